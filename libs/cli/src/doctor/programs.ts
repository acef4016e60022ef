import { EmbeddedFailure, natsBinaries, postgresBinaries } from '@fluidbox/embedded';
import { type Finding, missing, ok } from './finding';
import { installCommand, type Machine } from './machine';

export function checkNode(machine: Machine): Finding {
  const [major = 0, minor = 0] = machine.nodeVersion.split('.').map(Number);
  const newEnough = major > 20 || (major === 20 && minor >= 19);
  return newEnough ? ok('node', machine.nodeVersion) : missing('node', machine.nodeVersion, 'install Node 20.19 or newer');
}

export function checkGit(machine: Machine): Finding {
  const git = machine.which('git');
  const version = git && machine.run(git, ['--version']);
  if (!version) return missing('git', 'not on PATH', installCommand(machine, 'git'));
  return version.ok
    ? ok('git', version.output.replace('git version ', ''))
    : missing('git', version.output, installCommand(machine, 'git'));
}

export function checkNatsServer(machine: Machine, searchPath?: string): Finding {
  const [best] = natsBinaries(searchPath);
  if (best?.newEnough) return ok('nats-server', `${best.version} (${best.file})`);
  const fix = machine.osId.includes('debian') ? 'npm run setup (fetches it)' : `${installCommand(machine, 'nats-server')} (2.10 or newer)`;
  return missing('nats-server', best ? `${best.version} at ${best.file} is older than 2.10` : 'not found', fix);
}

export function checkPostgres(machine: Machine): Finding {
  try {
    const { postgres } = postgresBinaries();
    const version = machine.run(postgres, ['--version']);
    return version.ok
      ? ok('postgres', version.output.replace(/^postgres /, ''))
      : missing('postgres', version.output, 'rm -rf node_modules && npm run setup');
  } catch (error) {
    if (!(error instanceof EmbeddedFailure)) throw error;
    return missing('postgres', error.message.replace(/ Fix: .*/, ''), 'rm -rf node_modules && npm run setup');
  }
}

/** As root, Postgres and every sandbox start through these two. */
export function checkRootTools(machine: Machine): Finding[] {
  if (!machine.isRoot) return [];
  return ['unshare', 'setpriv'].map((name) => {
    const file = machine.which(name);
    return file ? ok(name, file) : missing(name, 'not on PATH, and needed because we are root', installCommand(machine, 'util-linux'));
  });
}
