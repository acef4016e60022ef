import { homeFolder, homeLayout, rotateLedgerKey, secretFiles } from '@fluidbox/embedded';
import { keySetOf } from '@fluidbox/verifier';
import { exitCodes } from '../exit-codes';
import { readNamedText } from '../named-file';
import type { Output } from '../output';

/** Thumbprints of the keys that sign, or once signed, the record of this folder's deployment. */
export function listKeysCommand(output: Output): number {
  const file = secretFiles(homeLayout(homeFolder()).secrets).ledgerPublicKeys;
  const kids = [...keySetOf(readNamedText(file, 'public keys')).keys()];
  output.out(output.json ? JSON.stringify({ file, kids }) : kids.join('\n'));
  return exitCodes.ok;
}

/** From the next start on checkpoints are signed with a new key. The public parts of the old ones stay, so that what they signed stays verifiable. */
export function rotateKeysCommand(output: Output): number {
  const { kid, file } = rotateLedgerKey(homeFolder());
  output.out(output.json ? JSON.stringify({ file, kid }) : kid);
  output.err(`the new key signs from the next start on; give ${file} (or GET /v1/keys) to those who verify`);
  return exitCodes.ok;
}
