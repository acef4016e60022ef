/**
 * What the self-test of the sandbox may find, judged without I/O: each check takes what was observed and returns a reason to
 * refuse the sandbox, or nothing.
 */

/** Lines of /proc/net/dev after the two of heading: `  lo: 0 0 …`. */
export function refuseInterfaces(procNetDev: string): string | undefined {
  const names = procNetDev
    .split('\n')
    .slice(2)
    .map((line) => line.split(':')[0]?.trim() ?? '')
    .filter((name) => name !== '' && name !== 'lo');
  return names.length > 0 ? `network interfaces other than loopback: ${names.join(', ')}` : undefined;
}

const unreachable = new Set(['ENETUNREACH', 'EPERM', 'EACCES', 'EAFNOSUPPORT']);

/** Only "there is no route" proves that there is none; a refusal or a timeout came from somebody. */
export function refuseReachability(target: string, outcome: string): string | undefined {
  return unreachable.has(outcome) ? undefined : `a packet to ${target} was not refused by the kernel: ${outcome}`;
}

/** vsock ignores network namespaces, so only the system-call filter keeps it out. */
export function refuseVsock(outcome: string): string | undefined {
  return unreachable.has(outcome) ? undefined : `an AF_VSOCK socket could be made: ${outcome}`;
}

const expectedTopLevel = new Set([
  'usr',
  'bin',
  'sbin',
  'lib',
  'lib32',
  'lib64',
  'libx32',
  'proc',
  'dev',
  'tmp',
  'home',
  'etc',
  'run',
  'opt',
  'workspace',
]);

export function refuseTopLevel(entries: readonly string[]): string | undefined {
  const unexpected = entries.filter((name) => !expectedTopLevel.has(name));
  return unexpected.length > 0 ? `host folders are visible at /: ${unexpected.join(', ')}` : undefined;
}

export function refuseVisible(paths: readonly string[]): string | undefined {
  return paths.length > 0 ? `host files are visible: ${paths.join(', ')}` : undefined;
}

const credentialName = /(?:^|_)(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|PRIVATE_KEY|SESSION_KEY|ACCESS_KEY(?:_ID)?)$/;

/** `text` is an environment block (NUL or line separated) or a command line; `where` names it in the reason. */
export function refuseCredentials(where: string, text: string, tokens: readonly string[]): string | undefined {
  if (tokens.some((token) => token !== '' && text.includes(token))) return `a token of this run stands in ${where}`;
  const names = text
    .split(/[\0\n]/)
    .filter((entry) => entry.includes('='))
    .map((entry) => entry.slice(0, entry.indexOf('=')))
    .filter((name) => credentialName.test(name));
  return names.length > 0 ? `${where} names a credential: ${names.join(', ')}` : undefined;
}

/** Lines of /proc/self/status. */
export function refusePrivileges(procStatus: string): string | undefined {
  const field = (name: string): string => procStatus.match(new RegExp(`^${name}:\\s*(\\S+)`, 'm'))?.[1] ?? 'absent';
  if (!/^0+$/.test(field('CapEff'))) return `the runner has capabilities: CapEff ${field('CapEff')}`;
  if (field('NoNewPrivs') !== '1') return 'no_new_privs is not set: a setuid program could gain privileges';
  if (field('Seccomp') !== '2') return `no system-call filter is installed: Seccomp ${field('Seccomp')}`;
  return undefined;
}

export function refuseAudience({ status, body }: { readonly status: number; readonly body: string }): string | undefined {
  if (status === 403 && body.includes('wrong_audience')) return undefined;
  return `the tool token was not refused at /events with 403 wrong_audience but answered ${status}`;
}

export function refuseDoor({ status }: { readonly status: number }): string | undefined {
  return status === 200 ? undefined : `the control plane answered the first heartbeat with ${status}`;
}
