import { createHmac } from 'node:crypto';
import { apiError } from '../../catalog/errors.ts';
import type { Credentials } from '../../emr/connector.ts';
import { type EndpointPins, fillPin, isAddress, same_host, toWildcard } from '../../emr/endpointPins.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';

export type PairContext = Pick<Context, 'db' | 'system_keys'>;
type TokenPins = Pick<EndpointPins, 'hosts' | 'token_endpoint'>;

/**
 * Claims the app's pairs of token endpoint and client ID. Throws if an app of any client has one of them: the EMR would
 * take one application for another. Owns the table `emr_app_pairs`.
 */
export async function claimPairs(
  { db, system_keys }: PairContext,
  tx: Tx,
  app: { id: string; client_id: string; credentials: Credentials } & TokenPins,
): Promise<void> {
  // Until the commit, so that two apps that are saved at once see each other.
  await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.emr_apps', 0))`;
  await tx`DELETE FROM emr_app_pairs WHERE emr_app_id = ${app.id}`;
  if (!app.credentials.client_id) return;
  const { own, wider } = listPairs(app, app.credentials.client_id);
  const hash = (pair: string) => createHmac('sha256', system_keys.key('emr_apps')).update(pair).digest();
  const [own_hashes, wider_hashes] = [[...own].map(hash), [...wider].map(hash)];
  const [taken] = await db.system.pooled`
    SELECT 1 AS found FROM emr_app_pairs WHERE emr_app_id <> ${app.id}
       AND (pair_hash = ANY (${own_hashes}::bytea[]) OR pair_hash = ANY (${wider_hashes}::bytea[]) AND NOT wider) LIMIT 1`;
  if (taken) throw apiError('emr_app_pair_taken', undefined, { field: 'credentials.client_id' });
  await tx`INSERT INTO emr_app_pairs (emr_app_id, client_id, pair_hash, wider)
    SELECT ${app.id}::uuid, ${app.client_id}::uuid, hash, wider
      FROM (SELECT hash, false AS wider FROM unnest(${own_hashes}::bytea[]) AS hash
            UNION ALL SELECT hash, true FROM unnest(${wider_hashes}::bytea[]) AS hash) AS pairs`;
}

type Place = { host: string; path: string | undefined };

/** The pairs that an app claims, and those that would include one of them. */
function listPairs({ hosts, token_endpoint }: TokenPins, client_id: string): { own: Set<string>; wider: Set<string> } {
  const places = hosts.map((host) => resolvePlace(token_endpoint, host));
  const text = ({ host, path }: Place) =>
    `${path === undefined ? withoutPort(host) : host}\n${path ?? ''}\n${client_id}`;
  const own = new Set(places.map(text));
  const wider = new Set(places.flatMap(widerPlaces).map(text));
  for (const pair of own) wider.delete(pair);
  return { own, wider };
}

/** Without a path: any endpoint on the host. */
function resolvePlace(token_endpoint: string, host: string): Place {
  if (token_endpoint === same_host) return { host, path: undefined };
  const { host: of, pathname } = new URL(fillPin(token_endpoint, host));
  // Many servers ignore the case and a slash at the end. Endpoints contain no percent sign; see `checkPin`.
  const path = pathname.replaceAll('%7Btenant%7D', '{tenant}').toLowerCase().replace(/\/$/, '');
  return { host: of, path: path || '/' };
}

function widerPlaces({ host, path }: Place): Place[] {
  const hosts = [host, toWildcard(host) ?? host];
  const segments = path?.split('/') ?? [];
  const tenants = path?.includes('{tenant}')
    ? []
    : segments.flatMap((segment, at) => (segment === '' ? [] : segments.with(at, '{tenant}').join('/')));
  return hosts.flatMap((of) => [path, ...tenants, undefined].map((each) => ({ host: of, path: each })));
}

/** Names are compared without their port; see `isSameHost`. */
function withoutPort(host: string): string {
  return isAddress(host) ? host : host.replace(/:\d+$/, '');
}
