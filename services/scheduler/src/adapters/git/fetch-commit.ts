import { lookup } from 'node:dns/promises';
import fs from 'node:fs';
import { isIP } from 'node:net';
import path from 'node:path';
import { isPrivateAddress } from '@fluidbox/contracts';
import { type GitSource, isBelow, pickRef, type RemoteRef, refuseCloneUrl } from '../../domain/workspace-source';
import { refuseMissing } from '../local-folder';
import { makeBareRepository } from './base-repository';
import { type GitOptions, runGit } from './git-runner';
import { localGitFolder } from './local-repository';

export interface FetchSettings {
  /** Real paths below which a local repository may lie. */
  readonly localSources: readonly string[];
  /** Hosts that may have a private address. */
  readonly privateGitHosts: readonly string[];
  /** An outgoing proxy, where the machine needs one; it resolves names itself. */
  readonly proxy: string | null;
  /** More certificate authorities than the system's. */
  readonly caFile: string | null;
  readonly timeoutMs: number;
}
export interface FetchedCommit {
  readonly options: GitOptions;
  readonly commit: string;
}

/**
 * Fetches one commit into a bare repository of its own: no checkout, no hooks, no submodules, no tags, no redirects. Throws with the reason
 * a person can act on.
 */
export async function fetchCommit(
  source: GitSource,
  gitDir: string,
  uid: number | null,
  settings: FetchSettings,
  signal?: AbortSignal,
): Promise<FetchedCommit> {
  const refusal = refuseCloneUrl(source.clone_url);
  if (refusal !== null) throw new Error(refusal);
  const remote = source.clone_url.startsWith('/') ? localRemote(source.clone_url, settings) : await httpsRemote(source.clone_url, settings);
  // A local repository is read with our own rights: the configuration allowed it, and the run's uid may not be able to.
  const gitUid = remote.local ? null : uid;
  makeBareRepository(gitDir, gitUid);
  const authorities = remote.local ? undefined : bringAuthorities(gitDir, settings.caFile);
  const options: GitOptions = {
    gitDir,
    uid: gitUid,
    network: !remote.local,
    timeoutMs: settings.timeoutMs,
    signal,
    authorities,
    environment: { ...remote.environment, GIT_ALLOW_PROTOCOL: remote.local ? 'file' : 'https' },
  };
  const git = (...args: string[]) => runGit(withSettings(remote.settings, args), options);
  // Exactly the folder that was checked: no `.git` in it or beside it.
  const uploadPack = remote.local ? ['--upload-pack=git upload-pack --strict'] : [];
  const picked =
    source.commit_sha === undefined
      ? pickRef(source.ref, parseLsRemote((await git('ls-remote', ...uploadPack, '--end-of-options', remote.url)).stdout))
      : { name: source.commit_sha, sha: source.commit_sha };
  if ('refusal' in picked) throw new Error(picked.refusal);
  const fetch = (...refspecs: string[]) =>
    git(
      'fetch',
      '--quiet',
      ...uploadPack,
      '--no-tags',
      '--no-recurse-submodules',
      '--no-write-fetch-head',
      ...(refspecs.length === 1 ? ['--depth=1'] : []),
      '--end-of-options',
      remote.url,
      ...refspecs,
    );
  try {
    await fetch(`+${picked.name}:refs/fluidbox/source`);
  } catch (error) {
    if (source.commit_sha === undefined) throw error;
    // Some servers give no single commit: then all branches, and the commit must be among them.
    await fetch('+refs/heads/*:refs/fluidbox/heads/*', '+refs/tags/*:refs/fluidbox/tags/*');
  }
  const { stdout } = await runGit(['rev-parse', '--verify', '--end-of-options', `${picked.sha}^{commit}`], options);
  return { options: { ...options, network: false, environment: {}, authorities: undefined }, commit: stdout.toString('utf8').trim() };
}

const systemAuthorities = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/ca-bundle.pem'];

/** The system's authorities and the machine's own, in one file that git can read whatever its uid. */
function bringAuthorities(gitDir: string, caFile: string | null): string | undefined {
  if (caFile === null) return undefined;
  const files = [...systemAuthorities.filter((file) => fs.existsSync(file)).slice(0, 1), caFile];
  const name = 'authorities.pem';
  fs.writeFileSync(path.join(gitDir, name), files.map((file) => fs.readFileSync(file, 'utf8')).join('\n'), { mode: 0o644 });
  return name;
}

interface Remote {
  readonly url: string;
  readonly local: boolean;
  readonly settings: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** Settings go before the command, and `runGit` puts its own there already: as environment they reach git in the same way. */
const withSettings = (settings: readonly string[], args: readonly string[]): string[] => [
  ...settings.flatMap((setting) => ['-c', setting]),
  ...args,
];

function localRemote(folder: string, settings: FetchSettings): Remote {
  refuseMissing(folder, settings.localSources);
  const real = fs.existsSync(folder) ? fs.realpathSync(folder) : null;
  if (real === null || !isBelow(real, settings.localSources)) {
    throw new Error(`${folder} is not below a folder that FLUIDBOX_LOCAL_SOURCES allows: add its folder there, or use an https clone_url`);
  }
  // Whose it is does not matter: only its objects are read, nothing of its configuration runs.
  return {
    url: localGitFolder(real, settings.localSources),
    local: true,
    settings: ['safe.directory=*', 'uploadpack.packObjectsHook='],
    environment: {},
  };
}

/**
 * The name is resolved once, checked, and pinned for git: a second answer of the resolver changes nothing. Behind a proxy the proxy resolves,
 * and only an address that is written out can be checked here.
 */
async function httpsRemote(cloneUrl: string, settings: FetchSettings): Promise<Remote> {
  const url = new URL(cloneUrl);
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const addresses = await addressesOf(host, settings);
  const allowed = settings.privateGitHosts.includes(host) || !(host === 'localhost' || addresses.some(isPrivateAddress));
  if (!allowed)
    throw new Error(`the host of clone_url has a private address (${host}): list it in FLUIDBOX_PRIVATE_GIT_HOSTS if it is meant`);
  const pinned = addresses.map((address) => (isIP(address) === 6 ? `[${address}]` : address)).join(',');
  return {
    url: url.href,
    local: false,
    settings: [
      ...(settings.proxy === null ? [`http.curloptResolve=${host}:${url.port || 443}:${pinned}`] : []),
      ...['http.followRedirects=false', 'http.lowSpeedLimit=1000', 'http.lowSpeedTime=60', 'http.sslVerify=true'],
    ],
    // Not as a setting: a proxy's address may hold a password, and arguments are public.
    environment: settings.proxy === null ? {} : { https_proxy: settings.proxy },
  };
}

async function addressesOf(host: string, settings: FetchSettings): Promise<string[]> {
  if (isIP(host) !== 0) return [host];
  if (settings.proxy !== null) return [];
  const found = await lookup(host, { all: true }).catch((error: unknown) => {
    throw new Error(`the host of clone_url cannot be resolved: ${host}`, { cause: error });
  });
  return found.map(({ address }) => address);
}

const parseLsRemote = (stdout: Buffer): RemoteRef[] =>
  stdout
    .toString('utf8')
    .split('\n')
    .flatMap((line) => {
      const [sha, name] = line.split('\t');
      return sha !== undefined && name !== undefined && /^[0-9a-f]{40}$/.test(sha) ? [{ sha, name }] : [];
    });
