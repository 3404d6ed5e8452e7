import { isIP } from 'node:net';
import { parseUrl } from '../catalog/parseUrl.ts';

/** What an owner configured for an EMR app: where it is used, and the only places that its credentials are sent to. */
export type EndpointPins = {
  /** Names of hosts, `*.` for exactly one label; with the port unless it is the default one. */
  hosts: readonly string[];
  /** `same_host`, a URL, or a URL with `{host}` and `{tenant}`: the host and the tenant of the EMR's address. */
  token_endpoint: string;
  /** The same for the sign-in page; null if the sign-in has none. */
  authorization_endpoint: string | null;
  /** The issuer that the sign-in page names, if its host is not that of the page. */
  issuer: string | null;
  /** Where the path of the EMR's address has the tenant, such as `/r4/{tenant}`; null: in its first segment. */
  tenant_path: string | null;
};

export const same_host = 'same_host';

/** How the hosts of an app match the address of an EMR. An exact name takes precedence over `*.`. */
export function matchHost(hosts: readonly string[], address: string): 'exact' | 'wildcard' | undefined {
  const { host } = new URL(address);
  if (hosts.includes(host)) return 'exact';
  const wildcard = toWildcard(host);
  return wildcard !== undefined && hosts.includes(wildcard) ? 'wildcard' : undefined;
}

/** `*.example.org` for `emr.example.org`; undefined for IP addresses and names without a parent of two labels. */
export function toWildcard(host: string): string | undefined {
  const [, parent] = /^[^.]+\.([^.]+\..+)$/.exec(host) ?? [];
  return parent === undefined || isAddress(host) || host.startsWith('*.') ? undefined : `*.${parent}`;
}

/** Whether an endpoint that a server names is the one that an app pins for the EMR at this address. */
export function isPinned(pin: string, address: string, endpoint: string, tenant_path: string | null = null): boolean {
  const named = parseUrl(endpoint);
  const base = new URL(address);
  // Plain http only if the EMR itself uses it, as in a sandbox.
  if (!named || !['https:', base.protocol].includes(named.protocol)) return false;
  if (named.username !== '' || named.password !== '') return false;
  return pin === same_host ? isSameHost(base, named) : pinnedUrls(pin, address, tenant_path).includes(named.href);
}

/** The URL of a pin; none if the address does not contain the tenant at the expected place. */
export function pinnedUrls(pin: string, address: string, tenant_path: string | null): string[] {
  const { host, pathname } = new URL(address);
  const tenant = pin.includes('{tenant}') ? tenantIn(pathname, tenant_path) : '';
  if (tenant === undefined) return [];
  const url = parseUrl(fillPin(pin, host).replaceAll('{tenant}', tenant));
  return url ? [url.href] : [];
}

/** Vendors place the tenant differently. The first segment is safe for all: no tenant controls a path above its own. */
export const first_segment = '/{tenant}';

/**
 * The tenant, at one place of the path only. Otherwise the tenant that serves `/evil/` could pose as another one, because
 * it also serves `/evil/victim/`.
 */
function tenantIn(pathname: string, tenant_path: string | null): string | undefined {
  const place = (tenant_path ?? first_segment).split('/');
  const segments = pathname.split('/');
  const fits = place.every((segment, at) => segment === '{tenant}' || segment === segments[at]);
  const tenant = segments[place.indexOf('{tenant}')] ?? '';
  return fits && /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/.test(tenant) ? tenant : undefined;
}

export function fillPin(pin: string, host: string): string {
  return pin.replaceAll('{host}', host);
}

/** Names are compared without the port; behind one IP address, and on this machine, every port is another server. */
export function isSameHost(one: URL, other: URL): boolean {
  return isAddress(one.host) ? one.host === other.host : one.hostname === other.hostname;
}

/** Whether a host is an IP address, or a name for this machine. */
export function isAddress(host: string): boolean {
  const { hostname } = parseUrl(`https://${host}`) ?? { hostname: host };
  return isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0 || /(^|\.)localhost$/.test(hostname);
}
