import type { EmrEndpoint } from '../connector.ts';

/** OpenEMR keeps each practice of a multi-site installation in a database of its own. */
const default_site = 'default';

/**
 * `https://host[/path]`, or for another site than `default` the address of its API, `https://host[/path]/apis/<site id>`.
 * The site is part of the address, because it decides which practice an organization is.
 */
export function refuseAddress(url: URL): string | undefined {
  if (url.href.includes('?')) return 'must be the address of OpenEMR without a query.';
  const { site, is_named } = readSite(url);
  if (is_named && site === default_site) return 'must be the address of OpenEMR, without /apis/default.';
  if (/\/(apis|oauth2)(\/|$)/.test(url.pathname.replace(site_path, ''))) {
    return 'must be the address of OpenEMR, followed by /apis/ and the site ID if that is not default.';
  }
  return undefined;
}

/** The FHIR half of an OpenEMR server. */
export function atFhir<Endpoint extends Pick<EmrEndpoint, 'address'>>(endpoint: Endpoint): Endpoint {
  return { ...endpoint, address: `${apiBase(endpoint.address)}/fhir` };
}

export function restBase(address: string): URL {
  return new URL(`${apiBase(address)}/api`);
}

function apiBase(address: string): string {
  const url = new URL(address);
  const { site, installation } = readSite(url);
  return `${url.origin}${installation}/apis/${site}`;
}

const site_path = /\/apis\/([A-Za-z0-9][A-Za-z0-9._-]*)\/?$/;

function readSite({ pathname }: URL): { site: string; installation: string; is_named: boolean } {
  const [, site] = site_path.exec(pathname) ?? [];
  const installation = pathname.replace(site_path, '').replace(/\/+$/, '');
  return { site: site ?? default_site, installation, is_named: site !== undefined };
}
