import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { homeLayout } from './layout';
import { choosePorts } from './remembered';

describe('the ports of a folder', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'fbx-ports-'));
  afterAll(() => fs.rmSync(home, { recursive: true }));
  const layout = homeLayout(home);
  const remembered = (): unknown => JSON.parse(fs.readFileSync(layout.portsFile, 'utf8'));

  it('of a stack that stays are remembered; one that lives as long as a command leaves its listeners to the next', async () => {
    const passing = await choosePorts(layout, {}, false);
    expect(remembered()).toEqual({ nats: passing.nats, postgres: passing.postgres });
    const staying = await choosePorts(layout, { FLUIDBOX_PUBLIC_PORT: String(passing.public) }, true);
    expect(remembered()).toEqual(staying);
    expect(staying.public).toBe(passing.public);
    const passingAgain = await choosePorts(layout, {}, false);
    expect(remembered()).toEqual({ ...staying, nats: passingAgain.nats, postgres: passingAgain.postgres });
  });
});
