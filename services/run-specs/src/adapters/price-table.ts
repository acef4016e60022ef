import fs from 'node:fs';
import { defaultPriceTable, PriceTable } from '@fluidbox/contracts';
import { canonicalJson } from '@fluidbox/redaction';
import { sha256Hex } from '@fluidbox/seal';
import type { Ports } from '../app/ports';

/** The operator's table, or the list prices. Stored as a document by the first run that freezes it. */
export function priceTable(file: string | undefined): Ports['prices'] {
  const table = file === undefined ? defaultPriceTable : readTable(file);
  const bytes = Buffer.from(canonicalJson(table), 'utf8');
  return { table, bytes, digest: sha256Hex(bytes) };
}

function readTable(file: string): PriceTable {
  try {
    return PriceTable.parse(JSON.parse(fs.readFileSync(file, 'utf8')));
  } catch (cause) {
    const detail = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`FLUIDBOX_PRICE_TABLE_FILE: ${file} is not a price table {version, effective_from, models}: ${detail}`, { cause });
  }
}
