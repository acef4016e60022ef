import path from 'node:path';

/** The clone this code belongs to: programs and node_modules live there whatever FLUIDBOX_HOME says. */
export const repositoryRoot = path.resolve(__dirname, '../../..');

/** Folder for data: FLUIDBOX_HOME, or `.fluidbox` in the clone. */
export function homeFolder(environment: Readonly<Record<string, string | undefined>> = process.env): string {
  return path.resolve(environment.FLUIDBOX_HOME || path.join(repositoryRoot, '.fluidbox'));
}

export interface HomeLayout {
  readonly home: string;
  readonly postgres: string;
  readonly nats: string;
  readonly secrets: string;
  readonly pids: string;
  readonly logs: string;
  readonly blobs: string;
  readonly runs: string;
  readonly upFile: string;
  readonly holderLock: string;
  readonly deploymentFile: string;
  readonly portsFile: string;
}

export function homeLayout(home: string): HomeLayout {
  const inHome = (name: string) => path.join(home, name);
  return {
    home,
    postgres: inHome('postgres'),
    nats: inHome('nats'),
    secrets: inHome('secrets'),
    pids: inHome('pids'),
    logs: inHome('logs'),
    blobs: inHome('blobs'),
    runs: inHome('runs'),
    upFile: inHome('up.json'),
    holderLock: inHome('holder.lock'),
    deploymentFile: inHome('deployment.json'),
    portsFile: inHome('ports.json'),
  };
}
