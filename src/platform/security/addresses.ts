import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseUrl } from '../../catalog/parseUrl.ts';
import type { Config } from '../../catalog/settings/config.ts';

export type UrlRules = {
  /** Allows http to this machine. */
  sandbox: boolean;
  /** OUTBOUND_ALLOW_EMR or OUTBOUND_ALLOW_WEBHOOKS: names or addresses, with or without a port, that may be private and may use http. */
  allow: readonly string[];
};

/**
 * The rules for the two kinds of addresses that callers choose.
 *
 * @internal
 */
export function emrRules(config: Pick<Config, 'sandbox' | 'outbound_allow_emr'>): UrlRules {
  return { sandbox: config.sandbox, allow: config.outbound_allow_emr };
}

/** @internal */
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
  const refused = syntaxRefusal(text) ?? explainRefusal(new URL(text), rules);
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
export function explainRefusal(url: URL, rules: UrlRules): string | undefined {
  const reach = determineReach(url, rules);
  const schemes = reach === 'public' ? ['https:'] : ['https:', 'http:'];
  if (!schemes.includes(url.protocol)) return 'must use https.';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password.';
  const host = readHost(url);
  // The URL parser has normalized every spelling of an IPv4 address (decimal, octal, hex, short).
  if (isIP(host) !== 0) return isWithin(reach, host) ? undefined : private_address;
  return reach === 'public' && isLocalName(host) ? private_address : undefined;
}

export function determineReach(url: URL, rules: UrlRules): Reach {
  if (rules.allow.some((entry) => allows(entry, url))) return 'anywhere';
  return rules.sandbox && isThisMachine(readHost(url)) ? 'this_machine' : 'public';
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
function readHost(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

function allows(entry: string, url: URL): boolean {
  const [, name, port] = (isIPv6(entry) ? undefined : /^(.*?)(?::(\d+))?$/.exec(entry)) ?? [entry, `[${entry}]`];
  // Parsed as a URL, so that an entry may use any spelling that a URL may use.
  const allowed = name ? parseUrl(`http://${name}`) : undefined;
  if (!allowed || readHost(allowed) !== readHost(url)) return false;
  return port === undefined || Number(port) === readPort(url);
}

function readPort(url: URL): number {
  return url.port === '' ? ({ 'https:': 443, 'http:': 80 }[url.protocol] ?? 0) : Number(url.port);
}

/** 127.0.0.0/8, ::1 and the names that always mean this machine (RFC 6761); not the IPv6 forms that embed 127.0.0.1. */
function isThisMachine(host: string): boolean {
  return isLocalName(host) || host === '::1' || (isIP(host) === 4 && classifyAddress(host) === 'loopback');
}

function isLocalName(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Requests may go to `public` addresses; every other kind is refused unless the operator allows the host by name. */
export type AddressKind = 'public' | keyof typeof ranges | 'embedded' | 'invalid';

/**
 * Classifies an address. Everything not known to be public is refused, including IPv6 addresses outside 2000::/3 and
 * IPv6 forms that embed an IPv4 address (a gateway would deliver to the IPv4 address). Of those only NAT64's well-known
 * prefix can be public, because hosts in IPv6-only networks reach the IPv4 internet through it.
 */
export function classifyAddress(ip: string): AddressKind {
  // Canonical spellings only: ipaddr.js reads 010.0.0.1 as 8.0.0.1, other parsers as 10.0.0.1.
  if (isIP(ip) === 0 || ip.includes('%')) return 'invalid';
  const address = ipaddr.parse(ip);
  const bytes = address.toByteArray();
  const kind = findRange(address);
  if (bytes.length === 4 || kind === 'unspecified' || kind === 'loopback') return kind ?? 'public';

  const embedding = embeddings.find(({ prefix }) =>
    prefix.every((byte, at) => byte === undefined || byte === bytes[at]),
  );
  const inner = embedding?.v4(bytes).map(classifyAddress);
  const refused = inner?.find((one) => one !== 'public');
  if (refused) return refused;
  if (embedding) return embedding.when_public;
  return kind ?? (isGlobalUnicast(bytes) ? 'public' : 'reserved');
}

/** In order of precedence: the first match is the kind. */
const ranges = {
  // Cloud metadata services, which hand out credentials. 168.63.129.16 is Azure's, on an otherwise public address.
  metadata: [
    ['169.254.169.254/32', '169.254.170.2/32', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
    ['fd00:ec2::254/128', 'fd00:ec2::23/128', 'fd20:ce::254/128', 'fd00:42::42/128'],
  ],
  unspecified: [['0.0.0.0/8'], ['::/128']],
  loopback: [['127.0.0.0/8'], ['::1/128']],
  private: [
    ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'],
    ['fc00::/7', 'fec0::/10', '64:ff9b:1::/48'],
  ],
  carrier_nat: [['100.64.0.0/10'], []],
  link_local: [['169.254.0.0/16'], ['fe80::/10']],
  multicast: [['224.0.0.0/4'], ['ff00::/8']],
  broadcast: [['255.255.255.255/32'], []],
  documentation: [
    ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24'],
    ['2001:db8::/32', '3fff::/20'],
  ],
  benchmarking: [['198.18.0.0/15'], ['2001:2::/48']],
  // IETF protocol assignments, AS112 sinks, AMT and 6to4 relays, class E, discard-only.
  reserved: [
    ['192.0.0.0/24', '192.31.196.0/24', '192.52.193.0/24', '192.88.99.0/24', '192.175.48.0/24', '240.0.0.0/4'],
    ['100::/64', '2001::/23', '2620:4f:8000::/48'],
  ],
} as const;

const parsed_ranges = Object.fromEntries(
  Object.entries(ranges).map(([kind, lists]) => [kind, lists.flat().map((range) => ipaddr.parseCIDR(range))]),
);

function findRange(address: ipaddr.IPv4 | ipaddr.IPv6): keyof typeof ranges | undefined {
  const name = ipaddr.subnetMatch(address, parsed_ranges, 'none');
  // subnetMatch returns a key of the table or 'none'.
  return name === 'none' ? undefined : (name as keyof typeof ranges);
}

type Embedding = {
  /** The leading bytes; `undefined` matches any. */
  prefix: readonly (number | undefined)[];
  v4: (bytes: number[]) => string[];
  /** The kind when every IPv4 address inside is public. */
  when_public: 'public' | 'embedded';
};

const zeros = (count: number): number[] => new Array(count).fill(0);
const anything = (count: number): undefined[] => new Array(count).fill(undefined);
const v4At = (start: number) => (bytes: number[]) => [bytes.slice(start, start + 4).join('.')];

const embeddings: Embedding[] = [
  // ::ffff:a.b.c.d, IPv4-mapped
  { prefix: [...zeros(10), 0xff, 0xff], v4: v4At(12), when_public: 'embedded' },
  // ::a.b.c.d, IPv4-compatible (deprecated)
  { prefix: zeros(12), v4: v4At(12), when_public: 'embedded' },
  // ::ffff:0:a.b.c.d, IPv4-translated
  { prefix: [...zeros(8), 0xff, 0xff, 0, 0], v4: v4At(12), when_public: 'embedded' },
  // 64:ff9b::a.b.c.d, NAT64
  { prefix: [0, 0x64, 0xff, 0x9b, ...zeros(8)], v4: v4At(12), when_public: 'public' },
  // 2002:aabb:ccdd::, 6to4
  { prefix: [0x20, 0x02], v4: v4At(2), when_public: 'embedded' },
  // 2001:0:<server>:…:<client, inverted>, Teredo
  {
    prefix: [0x20, 0x01, 0, 0],
    v4: (bytes) => [...v4At(4)(bytes), ...v4At(12)(bytes.map((byte) => byte ^ 0xff))],
    when_public: 'embedded',
  },
  // …:0:5efe:a.b.c.d and …:200:5efe:a.b.c.d, ISATAP behind any prefix
  { prefix: [...anything(8), 0, 0, 0x5e, 0xfe], v4: v4At(12), when_public: 'embedded' },
  { prefix: [...anything(8), 2, 0, 0x5e, 0xfe], v4: v4At(12), when_public: 'embedded' },
];

function isGlobalUnicast(bytes: readonly number[]): boolean {
  const [first] = bytes;
  return first !== undefined && first >> 5 === 0b001;
}
