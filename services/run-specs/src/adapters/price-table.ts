import fs from 'node:fs';
import { defaultPriceTable, PriceTable } from '@fluidbox/contracts';
import { canonicalJson } from '@fluidbox/redaction';
import { sha256Hex } from '@fluidbox/seal';
import type { Ports } from '../app/ports';

/** The operator's table, or the list prices. Stored as a document by the first run that freezes it. */
export function priceTable(file: string | undefined): Ports['prices'] {
  const table = file === undefined ? defaultPriceTable : PriceTable.parse(JSON.parse(fs.readFileSync(file, 'utf8')));
  const bytes = Buffer.from(canonicalJson(table), 'utf8');
  return { table, bytes, digest: sha256Hex(bytes) };
}
