import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { UpstreamView } from '@fluidbox/contracts';
import type { ApiClient } from '../api/client';
import { paintFor } from '../paint';
import { listUpstreamsCommand, removeUpstreamCommand, setUpstreamCommand } from './upstreams';

const view: UpstreamView = {
  name: 'main',
  position: 1,
  base_url: 'https://api.example.com',
  set_by: 'ann',
  set_at: '2026-11-30T12:00:00.000Z',
};
const output = (json: boolean) => {
  const lines: string[] = [];
  return { lines, json, paint: paintFor({ isTTY: false }, {}), out: (text: string) => void lines.push(text), err: () => undefined };
};

describe("an organisation's own model upstreams", () => {
  it('are set with the key of a file, which is shown nowhere', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'fluidbox-upstream-'));
    const keyFile = path.join(folder, 'key');
    fs.writeFileSync(keyFile, 'sk-secret-0123456789\n');
    const asked: unknown[] = [];
    const api = {
      setUpstream: async (...args: unknown[]) => {
        asked.push(args);
        return { data: [view] };
      },
    } as unknown as ApiClient;
    try {
      const shown = [output(false), output(true)] as const;
      const options = { name: 'main', url: 'https://api.example.com', keyFile };
      await setUpstreamCommand(api, 'anthropic_messages', options, shown[0]);
      await setUpstreamCommand(api, 'anthropic_messages', { ...options, position: 2 }, shown[1]);
      const body = { base_url: 'https://api.example.com', key: 'sk-secret-0123456789' };
      expect(asked).toEqual([
        ['anthropic_messages', 'main', body],
        ['anthropic_messages', 'main', { ...body, position: 2 }],
      ]);
      expect(JSON.parse(shown[1].lines[0] ?? '')).toEqual([view]);
      expect([...shown[0].lines, ...shown[1].lines].join()).not.toContain('sk-secret');
      await expect(setUpstreamCommand(api, 'anthropic_messages', { ...options, keyFile: `${keyFile}-2` }, shown[0])).rejects.toMatchObject({
        message: expect.stringContaining('--key-file'),
      });
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('are listed in order, and removed by name', async () => {
    const removed: unknown[] = [];
    const lists = [[view], []];
    const api = {
      upstreams: async () => ({ data: lists.shift() }),
      removeUpstream: async (...args: unknown[]) => void removed.push(args),
    } as unknown as ApiClient;
    const shown = output(false);
    await listUpstreamsCommand(api, 'openai_responses', shown);
    await listUpstreamsCommand(api, 'openai_responses', shown);
    await removeUpstreamCommand(api, 'openai_responses', 'main', shown);
    expect(shown.lines[0]).toMatch(/1 +main +https:\/\/api\.example\.com +ann/);
    expect(shown.lines[1]).toBe('none: the upstream of the deployment is asked');
    expect(removed).toEqual([['openai_responses', 'main']]);
  });
});
