import { isPrivateAddress } from '@fluidbox/contracts';

/** Host of a URL as people write it: an IPv6 address without its brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

/** Whether the configuration names this receiver, as `host` or `host:port`: it may be http and may have a private address. */
export function isNamedHost(url: URL, privateHosts: readonly string[]): boolean {
  const host = hostOf(url).toLowerCase();
  const port = url.port === '' ? (url.protocol === 'http:' ? '80' : '443') : url.port;
  return privateHosts.some((named) => named === host || named === `${host}:${port}` || named === `[${host}]:${port}`);
}

/** Why the URL of a webhook is refused as it is written, or null. Where its name leads is looked at before every connection. */
export function refuseWebhookUrl(text: string, privateHosts: readonly string[]): string | null {
  const url = parsed(text);
  if (url === null) return 'must be a URL such as https://hooks.example.com/fluidbox';
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https://';
  // The parser takes the bare `@` away, and whoever reads the URL may not.
  if (url.username !== '' || url.password !== '' || /^[a-z]+:\/*[^/?#]*@/i.test(text)) {
    return 'must hold no user name or password: a receiver knows us by the signature';
  }
  if (url.hash !== '') return 'must have no fragment';
  if (url.protocol === 'http:' && !isNamedHost(url, privateHosts)) {
    return `must begin with https://; http is for hosts that FLUIDBOX_WEBHOOK_PRIVATE_HOSTS names (${url.host} is not)`;
  }
  const host = hostOf(url).toLowerCase();
  if (!isNamedHost(url, privateHosts) && (host === 'localhost' || host.endsWith('.localhost') || isWrittenPrivately(host))) {
    return `leads to a private address (${host}): list it in FLUIDBOX_WEBHOOK_PRIVATE_HOSTS if it is meant`;
  }
  return null;
}

function parsed(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/** The parser has made every spelling of an IPv4 address (`0x7f.1`, `2130706433`) the dotted one. */
const isWrittenPrivately = (host: string): boolean => (/^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(':')) && isPrivateAddress(host);
