import { randomUUID } from 'node:crypto';
import { readJsonIfPresent, writeFileAtomically } from './files';
import { freePort } from './free-port';
import type { HomeLayout } from './layout';
import type { Environment, Ports } from './service-environment';

const field = (file: string, name: string): unknown => {
  const content = readJsonIfPresent(file);
  return typeof content === 'object' && content !== null ? (content as Record<string, unknown>)[name] : undefined;
};

/** Names this deployment for as long as its folder exists: sandboxes carry it, and only ours are adopted or ended. */
export function deploymentId(layout: HomeLayout): string {
  const known = field(layout.deploymentFile, 'deployment_id');
  if (typeof known === 'string') return known;
  const made = randomUUID();
  writeFileAtomically(layout.deploymentFile, JSON.stringify({ deployment_id: made }));
  return made;
}

const wellKnown = { public: 8787, control: 8788, llm: 8789 } as const;
const variable = { public: 'FLUIDBOX_PUBLIC_PORT', control: 'FLUIDBOX_CONTROL_PORT', llm: 'FLUIDBOX_LLM_PORT' } as const;

/**
 * A port the caller names is used as it is; else the one of the last start, so that a restart keeps its addresses; else the well-known
 * one; each only when it is free.
 */
export async function choosePorts(layout: HomeLayout, caller: Environment, preferWellKnown: boolean): Promise<Ports> {
  const last = (name: keyof Ports): number | undefined => {
    const port = field(layout.portsFile, name);
    return typeof port === 'number' ? port : undefined;
  };
  const taken = new Set<number>();
  const choose = async (preferred: number | undefined): Promise<number> => {
    const port = await freePort(preferred, taken);
    taken.add(port);
    return port;
  };
  const listener = async (name: keyof typeof wellKnown): Promise<number> => {
    const asked = caller[variable[name]];
    if (asked !== undefined && asked !== '' && asked !== '0') return Number(asked);
    return choose(last(name) ?? (preferWellKnown && asked !== '0' ? wellKnown[name] : undefined));
  };
  const ports: Ports = {
    public: await listener('public'),
    control: await listener('control'),
    llm: await listener('llm'),
    nats: await choose(last('nats')),
    postgres: await choose(last('postgres')),
  };
  // Where a stack listened that lived as long as one command is nobody's address; remembered, it would keep `up` from the well-known ports for ever.
  const { nats, postgres } = ports;
  const listeners = preferWellKnown ? ports : { public: last('public'), control: last('control'), llm: last('llm') };
  writeFileAtomically(layout.portsFile, JSON.stringify({ ...listeners, nats, postgres }));
  return ports;
}
