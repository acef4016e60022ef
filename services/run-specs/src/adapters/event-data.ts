import { LedgerBody } from '@fluidbox/contracts';

/** The ledger data of a stored event, from its body as it stands in `ledger.events`. */
export const dataOf = (body: Buffer): Record<string, unknown> => LedgerBody.parse(JSON.parse(body.toString('utf8'))).data;
