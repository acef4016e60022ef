import readline from 'node:readline';
import type { ApprovalView, DecideApprovalBody } from '@fluidbox/contracts';
import type { Output } from '../output';
import { oneLine } from '../paint';
import { erasedMark } from '../timeline-line';

const prompt = '[a]pprove once · approve for the rest of this run [s] · [d]eny: ';
const answers: Readonly<Record<string, DecideApprovalBody>> = {
  a: { decision: 'approve' },
  s: { decision: 'approve_session' },
  d: { decision: 'deny' },
};

/** What the approver must see before the key is pressed: the exact input and what a grant for the run would cover. */
export const approvalCard = (approval: ApprovalView): string[] => [
  `${oneLine(approval.tool, 60)} wants to run: ${oneLine(JSON.stringify(approval.input), 2_000)}`,
  `asked because: ${approval.reason === null ? 'the policy asks' : oneLine(approval.reason, 500)}`,
  `"for the rest of this run" would cover: ${oneLine(approval.scope_key ?? erasedMark, 520)} · expires ${approval.expires_at} · input ${approval.input_digest.slice(0, 19)}`,
];

/** Asks the person at the terminal for one key. */
export function askPerson(approval: ApprovalView, output: Output, input: NodeJS.ReadStream): Promise<DecideApprovalBody> {
  for (const line of approvalCard(approval)) output.err(output.paint.yellow(`  ${line}`));
  return new Promise((resolve) => {
    output.err(output.paint.bold(`  ${prompt}`));
    readline.emitKeypressEvents(input);
    const wasRaw = input.isRaw;
    input.setRawMode(true);
    input.resume();
    const onKey = (text: string | undefined, key: { name?: string; ctrl?: boolean }): void => {
      const body = answers[(text ?? '').toLowerCase()];
      if (key.ctrl !== true && body === undefined) return;
      input.off('keypress', onKey);
      input.setRawMode(wasRaw);
      input.pause();
      if (key.ctrl === true && key.name === 'c') process.kill(process.pid, 'SIGINT');
      else if (body !== undefined) resolve(body);
    };
    input.on('keypress', onKey);
  });
}
