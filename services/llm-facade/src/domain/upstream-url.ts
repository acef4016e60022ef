import { isPrivateAddress } from '@fluidbox/contracts';

const hostOf = (url: URL): string =>
  url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

/** Whether the configuration names it, as `host` or `host:port`: it may be http and may have a private address. */
export function isNamedUpstream(url: URL, privateHosts: readonly string[]): boolean {
  const host = hostOf(url);
  const port = url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port;
  return privateHosts.some((named) => named === host || named === `${host}:${port}` || named === `[${host}]:${port}`);
}

/** Why a base URL is refused as it is written, or null. Where its name leads is looked at before every connection. */
export function refuseUpstreamUrl(text: string, privateHosts: readonly string[]): string | null {
  const url = parsed(text);
  if (url === null) return 'must be a URL such as https://api.example.com';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https://';
  // The parser takes a bare `@`, `?` or `#` away, and whoever reads the URL may not.
  if (/[@?#]/.test(text)) return 'must have no user, password, query or fragment: the key is given beside it';
  if (/\/v1\/*$/.test(url.pathname)) return 'must not end with /v1: that belongs to the path of each request';
  if (isNamedUpstream(url, privateHosts)) return null;
  if (url.protocol === 'http:')
    return `must begin with https://; http is for hosts that FLUIDBOX_UPSTREAM_PRIVATE_HOSTS names (${url.host} is not)`;
  const host = hostOf(url);
  // The parser has made every spelling of an IPv4 address (`0x7f.1`, `2130706433`) the dotted one.
  const isAddress = /^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(':');
  return host === 'localhost' || host.endsWith('.localhost') || (isAddress && isPrivateAddress(host))
    ? `leads to a private address (${host}): list it in FLUIDBOX_UPSTREAM_PRIVATE_HOSTS if it is meant`
    : null;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** As the parser writes it: what was looked at is what is called. */
export const writtenUrl = (text: string): string => new URL(text).href.replace(/\/+$/, '');
