import { isIP, isIPv6 } from 'node:net';
import { type AddressKind, classifyAddress } from './classifyAddress.ts';

export type UrlRules = {
  /** Allows http to this machine. */
  sandbox: boolean;
  /** OUTBOUND_ALLOW: names or addresses, with or without a port, that may be private and may use http. */
  allow: readonly string[];
};

/** Which addresses a request may connect to: any (allow-listed host), this machine only (sandbox), or public ones only. */
export type Reach = 'anywhere' | 'this_machine' | 'public';

export const private_address = 'points to a private or local address.';

/**
 * Checks a URL that a caller registered, without a DNS lookup; `outbound.ts` checks the addresses at every request.
 * `refused` completes a sentence that starts with the field name.
 */
export function checkUrl(text: string, rules: UrlRules): URL | { refused: string } {
  if (text.length > url_length_max) return { refused: `must be at most ${url_length_max} characters long.` };
  // The URL parser silently drops tabs and line breaks: we would store something other than what was sent.
  if (/[\s\p{Cc}]/u.test(text) || !URL.canParse(text)) {
    return { refused: 'must be a full address, such as https://example.org/path.' };
  }
  if (text.includes('#')) return { refused: 'must not have a fragment (#).' };
  const url = new URL(text);
  const refused = refusalOf(url, rules);
  return refused === undefined ? url : { refused };
}

/** Why a URL may not be requested, if so: its scheme, credentials in it, or its host. */
export function refusalOf(url: URL, rules: UrlRules): string | undefined {
  const reach = reachOf(url, rules);
  const schemes = reach === 'public' ? ['https:'] : ['https:', 'http:'];
  if (!schemes.includes(url.protocol)) return 'must use https.';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password.';
  const host = hostOf(url);
  // The URL parser has normalized every spelling of an IPv4 address (decimal, octal, hex, short).
  if (isIP(host) !== 0) return isWithin(reach, host) ? undefined : private_address;
  return reach === 'public' && isLocalName(host) ? private_address : undefined;
}

export function reachOf(url: URL, rules: UrlRules): Reach {
  if (rules.allow.some((entry) => allows(entry, url))) return 'anywhere';
  return rules.sandbox && isThisMachine(hostOf(url)) ? 'this_machine' : 'public';
}

/** Whether a request may connect to this address. */
export function isWithin(reach: Reach, ip: string): boolean {
  const accepted: Record<Reach, (kind: AddressKind) => boolean> = {
    anywhere: (kind) => kind !== 'invalid',
    this_machine: (kind) => kind === 'loopback',
    public: (kind) => kind === 'public',
  };
  return accepted[reach](classifyAddress(ip));
}

const url_length_max = 2000;

/** The host without the brackets of an IPv6 address and without the dot of a fully qualified name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

function allows(entry: string, url: URL): boolean {
  const [, name, port] = (isIPv6(entry) ? undefined : /^(.*?)(?::(\d+))?$/.exec(entry)) ?? [entry, `[${entry}]`];
  // Parsed as a URL, so that an entry may use any spelling that a URL may use.
  if (!name || !URL.canParse(`http://${name}`)) return false;
  if (hostOf(new URL(`http://${name}`)) !== hostOf(url)) return false;
  return port === undefined || Number(port) === portOf(url);
}

function portOf(url: URL): number {
  return url.port === '' ? ({ 'https:': 443, 'http:': 80 }[url.protocol] ?? 0) : Number(url.port);
}

/** 127.0.0.0/8, ::1 and the names that always mean this machine (RFC 6761); not the IPv6 forms that embed 127.0.0.1. */
function isThisMachine(host: string): boolean {
  return isLocalName(host) || host === '::1' || (isIP(host) === 4 && classifyAddress(host) === 'loopback');
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}
