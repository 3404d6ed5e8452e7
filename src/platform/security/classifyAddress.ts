import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

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
  const kind = rangeOf(address);
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

function rangeOf(address: ipaddr.IPv4 | ipaddr.IPv6): keyof typeof ranges | undefined {
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
