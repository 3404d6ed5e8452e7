import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Reads a network that an operator entered: `10.0.0.0/8`, `2001:db8::/32`, or one address. Returns it in one spelling, or
 * the rest of a sentence that says what is wrong. IPv4-mapped networks become IPv4 ones, as the addresses do that are
 * compared with them.
 */
export function parseNetwork(text: string): { network: string } | { refused: string } {
  const parsed = toNetwork(text.trim());
  if (!parsed) return { refused: 'must be addresses or networks such as 203.0.113.7, 10.0.0.0/8 or 2001:db8::/32' };
  const network = formatNetwork(parsed);
  const masked = formatNetwork({ ...parsed, address: maskAddress(parsed) });
  if (masked === network) return { network };
  // Whoever means one address must not allow its whole network by mistake.
  return { refused: `must not have bits after the prefix: write ${masked} for the network, or only the address` };
}

/** Whether an address is in one of the networks. What is not an address is in none. */
export function isInNetworks(text: string, networks: readonly string[]): boolean {
  const address = toAddress(text);
  return address !== undefined && readNetworks(networks).some((network) => contains(network, address));
}

/** An address as it is shown: without a zone, and IPv4 addresses without their IPv6 form. */
export function formatAddress(text: string): string {
  return toAddress(text)?.toString() ?? text;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = { address: Address; bits: number };

/** Lists are read once: those of clients are in a cache, those of settings never change. */
const read = new WeakMap<readonly string[], readonly Network[]>();

function readNetworks(texts: readonly string[]): readonly Network[] {
  const known = read.get(texts);
  if (known) return known;
  const networks = texts.flatMap((text) => toNetwork(text) ?? []);
  read.set(texts, networks);
  return networks;
}

function toNetwork(text: string): Network | undefined {
  const [, plain = '', prefix] = /^([^/]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(text) ?? [];
  const kind = isIP(plain);
  if (kind === 0 || plain.includes('%')) return undefined;
  const bits = prefix === undefined ? countBits(kind) : Number(prefix);
  if (bits > countBits(kind)) return undefined;
  const address = ipaddr.parse(plain);
  // A shorter prefix of an IPv4-mapped address contains other addresses, too.
  const mapped = isMapped(address) && bits >= mapped_bits;
  return mapped ? { address: address.toIPv4Address(), bits: bits - mapped_bits } : { address, bits };
}

/** The bits before the IPv4 address in `::ffff:a.b.c.d`. */
const mapped_bits = 96;

function countBits(kind: number): number {
  return kind === 4 ? 32 : 128;
}

/** Node reports the IPv4 addresses of a socket that also serves IPv6 in their IPv6 form. */
function toAddress(text: string): Address | undefined {
  const plain = text.replace(/%.*$/, '');
  if (isIP(plain) === 0) return undefined;
  const address = ipaddr.parse(plain);
  return isMapped(address) ? address.toIPv4Address() : address;
}

function isMapped(address: Address): address is ipaddr.IPv6 {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
}

function contains({ address: start, bits }: Network, address: Address): boolean {
  return start.kind() === address.kind() && address.match(start, bits);
}

function maskAddress({ address, bits }: Network): Address {
  const bytes = address.toByteArray();
  return ipaddr.fromByteArray(
    bytes.map((byte, at) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - at * 8))) & 0xff),
  );
}

function formatNetwork({ address, bits }: Network): string {
  return bits === address.toByteArray().length * 8 ? address.toString() : `${address.toString()}/${bits}`;
}
