import { isIP, isIPv6 } from 'node:net';
import { parseUrl } from '../../catalog/parseUrl.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { type AddressKind, classifyAddress } from './classifyAddress.ts';

export type UrlRules = {
  /** Allows http to this machine. */
  sandbox: boolean;
  /** OUTBOUND_ALLOW_EMR or OUTBOUND_ALLOW_WEBHOOKS: names or addresses, with or without a port, that may be private and may use http. */
  allow: readonly string[];
};

/** The rules for the two kinds of addresses that callers choose. */
export function emrRules(config: Pick<Config, 'sandbox' | 'outbound_allow_emr'>): UrlRules {
  return { sandbox: config.sandbox, allow: config.outbound_allow_emr };
}

export function webhookRules(config: Pick<Config, 'sandbox' | 'outbound_allow_webhooks'>): UrlRules {
  return { sandbox: config.sandbox, allow: config.outbound_allow_webhooks };
}

/** Which addresses a request may connect to: any (allow-listed host), this machine only (sandbox), or public ones only. */
export type Reach = 'anywhere' | 'this_machine' | 'public';

export const private_address = 'points to a private or local address.';

/**
 * Checks a URL that a caller registered, without a DNS lookup; `outbound.ts` checks the addresses at every request.
 * `refused` completes a sentence that starts with the field name.
 */
export function checkUrl(text: string, rules: UrlRules): URL | { refused: string } {
  const refused = syntaxRefusal(text) ?? refusalOf(new URL(text), rules);
  return refused === undefined ? new URL(text) : { refused };
}

/**
 * Why an address as typed is not a plain URL, if so. The URL parser drops tabs and line breaks, turns backslashes into
 * slashes, decodes percent signs and maps Unicode characters to others: the address would name another host than the
 * one that a person reads.
 */
export function syntaxRefusal(text: string): string | undefined {
  if (text.length > url_length_max) return `must be at most ${url_length_max} characters long.`;
  // Also https:host and https:///host, which the parser completes.
  const incomplete = /^https?:(?!\/\/[^/])/i.test(text);
  if (/[\s\p{Cc}\p{Cf}\\]/u.test(text) || incomplete || !parseUrl(text)) {
    return 'must be a full address, such as https://example.org/path.';
  }
  if (text.includes('#')) return 'must not have a fragment (#).';
  const [, authority = ''] = /^[^:]+:\/\/([^/?]*)/.exec(text) ?? [];
  if (authority.includes('@')) return 'must not contain a user name or password.';
  if (!/^[a-z0-9.:_[\]-]*$/i.test(authority)) {
    return 'must name its host in plain ASCII; write an international name in its xn-- form.';
  }
  return undefined;
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
  const allowed = name ? parseUrl(`http://${name}`) : undefined;
  if (!allowed || hostOf(allowed) !== hostOf(url)) return false;
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
