import { type ApiError, apiError } from '../../catalog/errors.ts';
import { newId, newReference } from '../../catalog/ids.ts';
import { parseUrl } from '../../catalog/parseUrl.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import { type ClientScope, inScope } from '../../platform/db/fragments.ts';
import { type DestinationChange, destinationChanges } from '../../platform/security/outbound.ts';
import type { Context } from '../context.ts';
import {
  checkOriginLimits,
  describeLimits,
  type OriginLimits,
  type RequestOrigin,
  refuseOrigin,
} from './requestOrigins.ts';
import {
  addSecret,
  hasSecret,
  matchSecret,
  type NewSecret,
  readActiveSecrets,
  type SecretScope,
  type StoredSecret,
} from './secrets.ts';

/** An application that calls the API: the tenant. */
export type Client = { id: string; public_id: string; name: string; mode: 'live' | 'test'; callback_urls: string[] };

/** Branding of Link for a client, and the pages that may embed it. */
export type ClientPage = {
  name: string;
  /** A `data:` URL. */
  logo: string | null;
  /** `#rrggbb` */
  colour: string | null;
  frame_origins: string[];
};

export type NewClient = { name: string; mode: 'live' | 'test'; callback_urls?: string[] } & Partial<
  ClientPage & OriginLimits
>;

/** A client in a list. `client_id` is its public id. */
export type ClientRow = { client_id: string; name: string; mode: Client['mode'] };

/** The settings of a client. */
export type ClientSettings = ClientRow &
  ClientPage &
  OriginLimits & {
    created_at: string;
    callback_urls: string[];
    keys: (SecretScope & {
      id: string;
      last_four: string;
      label: string | null;
      created_by: string | null;
      created_at: string;
      expires_at: string | null;
      /** Up to a minute late. */
      last_used_at: string | null;
    })[];
  };

export type ClientChanges = Partial<ClientPage & OriginLimits & Pick<Client, 'callback_urls'>>;

type ClientWithSecrets = Client & OriginLimits & { secrets: readonly StoredSecret[] };

/** `refused`: because of where the request came from. `genuine`: its secret is one of the client's. */
type Authentication = { client: Client; secret: SecretScope } | { client: Client; refused: ApiError; genuine: boolean };

/**
 * The client with these credentials, and what its secret permits. Undefined if either is wrong: the caller must not learn
 * which one.
 */
export async function authenticateClient(
  ctx: Context,
  public_id: string | undefined,
  secret: string | undefined,
  origin: RequestOrigin,
): Promise<Authentication | undefined> {
  if (!public_id || !secret) return undefined;
  const client = await findWithSecrets(ctx, public_id);
  const refused = client && refuseOrigin(client, origin);
  if (refused) return { client, refused, genuine: hasSecret(client.secrets, secret) };
  const used = client && matchSecret(client.secrets, secret);
  if (!used) return undefined;
  ctx.secret_uses.note({ client_id: client.id, secret_id: used.id });
  return { client, secret: used };
}

/** The client with these credentials, which the service itself has stored. */
export async function findOwnClient(
  ctx: Context,
  public_id: string | undefined,
  secret: string | undefined,
): Promise<Client | undefined> {
  const client = public_id && secret ? await findWithSecrets(ctx, public_id) : undefined;
  return client && hasSecret(client.secrets, secret ?? '') ? client : undefined;
}

function findWithSecrets(ctx: Context, public_id: string): Promise<ClientWithSecrets | undefined> {
  return ctx.lookups.find<ClientWithSecrets>('client_credentials', public_id, async () => {
    const [row] = await ctx.db.system<(Client & OriginLimits)[]>`
      SELECT id, public_id, name, mode, callback_urls, allowed_networks, certificate_fingerprints
        FROM clients WHERE public_id = ${public_id}`;
    return row && { ...row, secrets: await readActiveSecrets(ctx.db.system, row.id) };
  });
}

/** A client identified by other means than its credentials, such as a link token. */
export function findClient(ctx: Context, id: string): Promise<(Client & ClientPage) | undefined> {
  return ctx.lookups.find('client_id', id, async () => {
    const [row] = await ctx.db.system<(Client & ClientPage)[]>`
      SELECT id, public_id, name, mode, callback_urls, frame_origins, logo, colour FROM clients WHERE id = ${id}`;
    return row;
  });
}

/** A client by its public id, as used in dashboard paths. */
export function findClientByPublicId(ctx: Context, public_id: string): Promise<Client | undefined> {
  return ctx.lookups.find('client_public_id', public_id, async () => {
    const [row] = await ctx.db.system<Client[]>`
      SELECT id, public_id, name, mode, callback_urls FROM clients WHERE public_id = ${public_id}`;
    return row;
  });
}

export async function listClients({ db: { system } }: Pick<Context, 'db'>, scope: ClientScope): Promise<ClientRow[]> {
  return system<ClientRow[]>`
    SELECT public_id AS client_id, name, mode FROM clients WHERE ${inScope(system, system`id`, scope)}
     ORDER BY created_at, id`;
}

/** Creates a client with one secret, which is only shown now. `record` writes the audit record in the same transaction. */
export async function createClient(
  db: Database,
  client: NewClient,
  record: (tx: Tx, created: { id: string; client_id: string }) => Promise<void> = async () => {},
  secret: NewSecret = {},
): Promise<{ id: string; client_id: string; client_secret: string }> {
  const id = newId();
  const public_id = newReference(client.mode === 'live' ? 'live_client_id' : 'test_client_id');
  const client_secret = await db.tenant(id, async (tx) => {
    await tx`INSERT INTO clients (id, public_id, name, mode, callback_urls, frame_origins, logo, colour,
        allowed_networks, certificate_fingerprints)
      VALUES (${id}, ${public_id}, ${client.name}, ${client.mode}, ${client.callback_urls ?? []},
              ${client.frame_origins ?? []}, ${client.logo ?? null}, ${client.colour ?? null},
              ${client.allowed_networks ?? []}, ${client.certificate_fingerprints ?? []})`;
    await record(tx, { id, client_id: public_id });
    return addSecret(tx, id, client.mode, secret);
  });
  return { id, client_id: public_id, client_secret };
}

/** Remembers that the inputs of all jobs that finished up to this time have been deleted. */
export async function setInputsDeletedThrough(tx: Tx, client_id: string, through: string): Promise<void> {
  await tx`UPDATE clients SET inputs_deleted_through = ${through}::text::timestamptz WHERE id = ${client_id}`;
}

export async function readClientSettings(tx: Tx, client_id: string): Promise<ClientSettings> {
  const [row] = await tx<ClientSettings[]>`
    SELECT public_id AS client_id, name, mode, iso(created_at) AS created_at, callback_urls, frame_origins, logo, colour,
           allowed_networks, certificate_fingerprints,
           (SELECT coalesce(json_agg(json_build_object(
                     'id', replace(id::text, '-', ''), 'last_four', last_four, 'label', label, 'created_by', created_by,
                     'created_at', iso(created_at), 'expires_at', iso(expires_at), 'last_used_at', iso(last_used_at),
                     'access', access, 'org_id', org_id) ORDER BY id), '[]')
              FROM client_secrets WHERE client_secrets.client_id = clients.id AND revoked_at IS NULL) AS keys
      FROM clients WHERE id = ${client_id}`;
  if (!row) throw new Error('The client no longer exists.');
  return row;
}

/** Updates the given settings and leaves the others unchanged. Returns all of them, before and after. */
export async function changeClient(
  tx: Tx,
  client_id: string,
  changes: ClientChanges,
): Promise<{ before: ClientSettings; after: ClientSettings }> {
  await tx`SELECT FROM clients WHERE id = ${client_id} FOR NO KEY UPDATE`;
  const before = await readClientSettings(tx, client_id);
  if (Object.keys(changes).length > 0) await tx`UPDATE clients SET ${tx.set(changes)} WHERE id = ${client_id}`;
  await tx`SELECT pg_notify('chartwire_access', ${client_id})`;
  return { before, after: await readClientSettings(tx, client_id) };
}

type ClientUrls = { callback_urls?: string[]; frame_origins?: string[] };

/** The audit detail of a change: the pages that get tokens or may embed Link, and where requests may come from. */
export function describeClientChange(
  before: ClientUrls & Partial<OriginLimits>,
  after: ClientUrls & Partial<OriginLimits>,
): Record<string, unknown> {
  return { ...describeDestinations(before, after), ...describeLimits(before, after) };
}

function describeDestinations(before: ClientUrls, after: ClientUrls): { destinations?: DestinationChange[] } {
  const destinations = [
    ...destinationChanges('callback_url', before.callback_urls ?? [], after.callback_urls ?? []),
    ...destinationChanges('frame_origin', before.frame_origins ?? [], after.frame_origins ?? []),
  ];
  return destinations.length === 0 ? {} : { destinations };
}

/** Validates what the schema cannot express and throws on the first error. Returns the settings in canonical form. */
export function checkClient({ config }: Pick<Context, 'config'>, changes: ClientChanges): ClientChanges {
  const checked = { ...changes, ...checkOriginLimits(changes) };
  if (changes.certificate_fingerprints?.length && config.client_certificate_header === undefined) {
    throw invalid('certificate_fingerprints', 'can be used only if CLIENT_CERTIFICATE_HEADER is set on the server');
  }
  if (changes.callback_urls) checked.callback_urls = changes.callback_urls.map(checkCallback);
  if (changes.frame_origins) checked.frame_origins = changes.frame_origins.map(readOrigin);
  if (typeof changes.colour === 'string') checked.colour = readColour(changes.colour);
  if (typeof changes.logo === 'string') checkLogo(changes.logo);
  return checked;
}

function checkCallback(url: string): string {
  if (/^https?:$/.test(parseUrl(url)?.protocol ?? '')) return url;
  throw invalid('callback_urls', `must be URLs that start with https:// or http://, not '${url}'`);
}

/** An origin consists of scheme, host and port, which is all that browsers compare. */
function readOrigin(text: string): string {
  const origin = parseUrl(text)?.origin ?? 'null';
  if (origin !== 'null' && [origin, `${origin}/`].includes(text.toLowerCase())) return origin;
  throw invalid('frame_origins', `must be origins such as https://app.example.org, not '${text}'`);
}

function readColour(text: string): string {
  if (/^#[0-9a-f]{6}$/i.test(text)) return text.toLowerCase();
  throw invalid('colour', `must be written as #rrggbb, not '${text}'`);
}

const logo_bytes_max = 65_536;

/** A `data:` URL of a picture. */
export function checkLogo(logo: string): void {
  const [, data] = /^data:image\/(?:png|jpeg|svg\+xml);base64,([A-Za-z0-9+/]+=*)$/.exec(logo) ?? [];
  if (data === undefined) throw invalid('logo', 'must be a PNG, JPEG or SVG file');
  if (Buffer.byteLength(data, 'base64') > logo_bytes_max) throw invalid('logo', 'must be a file of at most 64 KB');
}

function invalid(field: keyof ClientChanges, rule: string): Error {
  return apiError('invalid_field', { rule: `${field} ${rule}` }, { field });
}
