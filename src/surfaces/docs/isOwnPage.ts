import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Whether a request comes from our own page in a browser on this machine. Only then are the sandbox's credentials sent:
 * - not over a network: the peer is this machine and no proxy forwards for another one;
 * - not to a foreign name that resolves to this machine (DNS rebinding): Host is a loopback name;
 * - not to another site's script or a server: only browsers send Sec-Fetch-Site, and scripts cannot set it.
 */
export function isOwnPage(peer: string | undefined, headers: IncomingHttpHeaders): boolean {
  if (peer === undefined || !isLoopback(peer.replace(/^::ffff:/, ''))) return false;
  if (['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'].some((name) => name in headers))
    return false;
  const host = headers.host ?? '';
  if (!isLoopbackName(host)) return false;
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return false;
  return headers['sec-fetch-site'] === 'same-origin';
}

function isLoopbackName(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}

function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
