import { setTimeout as delay } from 'node:timers/promises';
import type { ReadModelView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { exitCodes } from '../exit-codes';
import { CommandFailure } from '../failure';
import { type Output, table } from '../output';

const lookEveryMs = 500;

/** Asks for it and waits until the new version is live. Interrupted, the projector goes on. */
export async function rebuildCommand(api: ApiClient, name: string, options: { wait: boolean }, output: Output): Promise<number> {
  const asked = await api.rebuild(name);
  const wanted = asked.rebuilding?.version ?? asked.version;
  let model = asked;
  for (let said = ''; options.wait && model.rebuilding !== null; ) {
    const { position, target, problem } = model.rebuilding;
    if (problem !== null)
      throw new CommandFailure(`${name} cannot be filled: ${problem}; version ${model.version} stays live`, exitCodes.run_failed);
    const progress = `${name}: version ${wanted} has read ${position} of ${target}`;
    if (progress !== said) output.err(progress);
    said = progress;
    await delay(lookEveryMs);
    model = (await api.readModels()).data.find((each) => each.name === name) ?? model;
  }
  output.out(output.json ? JSON.stringify(model) : sentenceOf(model));
  return exitCodes.ok;
}

const sentenceOf = ({ name, version, rebuilding }: ReadModelView): string =>
  rebuilding === null
    ? `${name}: version ${version} is live`
    : `${name}: version ${rebuilding.version} is being filled, version ${version} is live`;

export async function listParkedCommand(api: ApiClient, output: Output): Promise<number> {
  const { data } = await api.parked();
  if (output.json) output.out(JSON.stringify(data));
  else if (data.length === 0) output.out('nothing is parked');
  else {
    const rows = data.map((row) => [
      row.follower,
      String(row.position),
      String(row.tries),
      row.at,
      `${row.replay_requested_at === null ? '' : '(asked for again) '}${row.reason}`,
    ]);
    output.out(table([['FOLLOWER', 'POSITION', 'TRIES', 'AT', 'REASON'], ...rows]));
  }
  return exitCodes.ok;
}

export async function replayParkedCommand(api: ApiClient, follower: string, position: number, output: Output): Promise<number> {
  const row = await api.replay(follower, position);
  output.out(
    output.json
      ? JSON.stringify(row)
      : `${follower} handles the event at ${position} again within 30 s; it leaves the list when that works`,
  );
  return exitCodes.ok;
}
