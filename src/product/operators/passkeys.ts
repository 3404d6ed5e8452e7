import { isIP } from 'node:net';
import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import type { Operator } from './operators.ts';

/** Enough time to find a security key. */
export const challenge_minutes = 5;

/** Stores a challenge that a browser is about to sign; `operator_id` is null for a sign-in. */
export async function storeChallenge(
  ctx: Pick<Context, 'db'>,
  challenge: string,
  operator_id: string | null,
): Promise<void> {
  const { system: sql } = ctx.db;
  await sql`DELETE FROM passkey_challenges WHERE created_at < now() - make_interval(mins => ${challenge_minutes})`;
  await sql`INSERT INTO passkey_challenges ${sql.values({ challenge_hash: hashToken(challenge), operator_id })}`;
}

/** Returns whether the challenge was stored for this purpose and has not expired. It can be used once. */
export async function consumeChallenge(
  ctx: Pick<Context, 'db'>,
  challenge: string,
  operator_id: string | null,
): Promise<boolean> {
  const consumed = await ctx.db.system`DELETE FROM passkey_challenges
    WHERE challenge_hash = ${hashToken(challenge)} AND operator_id IS NOT DISTINCT FROM ${operator_id}::uuid
      AND created_at > now() - make_interval(mins => ${challenge_minutes})`;
  return consumed.count > 0;
}

const timeout = challenge_minutes * 60_000;
const user_verification = 'required';
/** Enough for every device of a person. A browser gets the ids of all of them with each registration. */
const passkeys_max = 20;

/** A passkey that a browser has created; the binary values are base64url. */
export type PasskeyRegistration = { id: string; client_data: string; attestation: string; transports: string[] };

/** What a browser has signed with a passkey. `user_handle`: the operator's id, as the passkey stores it. */
export type PasskeyAssertion = {
  id: string;
  client_data: string;
  authenticator_data: string;
  signature: string;
  user_handle: string;
};

/** The options with which a browser creates a passkey for a signed-in operator. */
export async function passkeyCreationOptions(ctx: Context, { id, email, name }: Operator) {
  const { generateRegistrationOptions } = await webAuthn();
  const registered = await listCredentials(ctx.db.system, id);
  requireBelowMax(registered.length);
  const options = await generateRegistrationOptions({
    rpName: 'Chartwire',
    rpID: relyingParty(ctx).id,
    userID: toUserHandle(id),
    userName: email,
    userDisplayName: name || email,
    timeout,
    excludeCredentials: registered,
    // Discoverable, so that a sign-in needs no email address, and verified by PIN or biometrics: two factors in one.
    authenticatorSelection: { residentKey: 'required', userVerification: user_verification },
  });
  await storeChallenge(ctx, options.challenge, id);
  return options;
}

/** Checks a passkey that a browser has created for this operator. `addPasskey` stores it. */
export async function verifyNewPasskey(
  ctx: Context,
  operator_id: string,
  name: string,
  { id, client_data, attestation, transports }: PasskeyRegistration,
): Promise<NewPasskey> {
  const { verifyRegistrationResponse } = await webAuthn();
  const { id: expectedRPID, origin: expectedOrigin } = relyingParty(ctx);
  const { registrationInfo } = await verifyRegistrationResponse({
    response: {
      ...composeEnvelope(id),
      response: { clientDataJSON: client_data, attestationObject: attestation },
    },
    expectedChallenge: (challenge) => consumeChallenge(ctx, challenge, operator_id),
    expectedOrigin,
    expectedRPID,
  }).catch((cause: unknown) => {
    throw apiError('passkey_not_registered', undefined, { cause });
  });
  if (!registrationInfo) throw apiError('passkey_not_registered');
  const { credential } = registrationInfo;
  return {
    operator_id,
    name,
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey),
    counter: credential.counter,
    transports,
  };
}

/** The caller has locked the operator, so that concurrent registrations cannot exceed the limit. */
export async function storePasskey(tx: Tx, passkey: NewPasskey): Promise<void> {
  requireBelowMax((await listCredentials(tx, passkey.operator_id)).length);
  if ((await addPasskey(tx, passkey)) === undefined) throw apiError('passkey_not_registered');
}

/** The options with which a browser signs in, with any passkey that it has for this service. */
export async function passkeySignInOptions(ctx: Context) {
  const { generateAuthenticationOptions } = await webAuthn();
  const rpID = relyingParty(ctx).id;
  const options = await generateAuthenticationOptions({ rpID, timeout, userVerification: user_verification });
  await storeChallenge(ctx, options.challenge, null);
  return options;
}

/** The passkey that signed a challenge, or undefined with the reason why it is not accepted. */
export async function checkPasskey(
  ctx: Context,
  { id, client_data, authenticator_data, signature, user_handle }: PasskeyAssertion,
): Promise<{ passkey: KnownPasskey | undefined; accepted: boolean }> {
  const { verifyAuthenticationResponse } = await webAuthn();
  const { id: expectedRPID, origin: expectedOrigin } = relyingParty(ctx);
  const passkey = await findPasskey(ctx, id);
  if (!passkey) return { passkey, accepted: false };
  const { credential_id, public_key, counter } = passkey;
  const newCounter = await verifyAuthenticationResponse({
    response: {
      ...composeEnvelope(id),
      response: { clientDataJSON: client_data, authenticatorData: authenticator_data, signature },
    },
    expectedChallenge: (challenge) => consumeChallenge(ctx, challenge, null),
    expectedOrigin,
    expectedRPID,
    credential: { id: credential_id, publicKey: new Uint8Array(public_key), counter },
  }).then(
    ({ verified, authenticationInfo }) => (verified ? authenticationInfo.newCounter : undefined),
    // Whatever is wrong with the browser's data, the response is the same.
    () => undefined,
  );
  const own_handle = Buffer.from(toUserHandle(passkey.operator_id)).toString('base64url');
  if (newCounter === undefined || user_handle !== own_handle) return { passkey, accepted: false };
  return { passkey, accepted: await markPasskeyUsed(ctx, passkey.id, newCounter) };
}

function requireBelowMax(registered: number): void {
  if (registered >= passkeys_max) throw apiError('passkeys_max', { max: String(passkeys_max) });
}

/** Loaded when the first passkey is used: it takes 60 ms, which most processes and commands never need. */
function webAuthn() {
  return import('@simplewebauthn/server');
}

/** The fields of a browser's response that are the same for all. */
function composeEnvelope(id: string) {
  return { id, rawId: id, type: 'public-key', clientExtensionResults: {} } as const;
}

/** Browsers bind a passkey to a host name. They refuse IP addresses. */
function relyingParty({ base_url }: Pick<Context, 'base_url'>): { id: string; origin: string } {
  const { hostname, origin } = new URL(base_url);
  if (isIP(hostname.replaceAll(/[[\]]/g, '')) !== 0) throw apiError('passkeys_need_name');
  return { id: hostname, origin };
}

/** Stored by the authenticator with the passkey. The id says nothing about the person. */
function toUserHandle(operator_id: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(operator_id.replaceAll('-', ''), 'hex'));
}

/** A passkey as a sign-in is checked against it, with its operator. */
export type KnownPasskey = {
  id: string;
  operator_id: string;
  email: string;
  credential_id: string;
  public_key: Buffer;
  counter: number;
  transports: string[];
};

export type NewPasskey = Omit<KnownPasskey, 'id' | 'email'> & { name: string };

/** Returns undefined if the credential is registered already. */
export async function addPasskey(tx: Tx, passkey: NewPasskey): Promise<string | undefined> {
  const id = newId();
  const added = await tx`
    INSERT INTO operator_passkeys ${tx.values({ ...passkey, id })} ON CONFLICT (credential_id) DO NOTHING`;
  return added.count > 0 ? id : undefined;
}

/** A passkey as its operator sees it. */
export type PasskeyRow = { id: string; name: string; created_at: string; used_at: string | null };

export async function listPasskeys(ctx: Pick<Context, 'db'>, operator_id: string): Promise<PasskeyRow[]> {
  return ctx.db.system<PasskeyRow[]>`
    SELECT id, name, iso(created_at) AS created_at, iso(used_at) AS used_at
      FROM operator_passkeys WHERE operator_id = ${operator_id} ORDER BY id`;
}

/** The credential ids of an operator's passkeys, so that a browser does not register the same device twice. */
export async function listCredentials(sql: Sql | Tx, operator_id: string): Promise<{ id: string }[]> {
  return sql<{ id: string }[]>`
    SELECT credential_id AS id FROM operator_passkeys WHERE operator_id = ${operator_id}`;
}

export async function findPasskey(ctx: Pick<Context, 'db'>, credential_id: string): Promise<KnownPasskey | undefined> {
  const [row] = await ctx.db.system<KnownPasskey[]>`
    SELECT operator_passkeys.id, operator_id, email, credential_id, public_key, counter, transports
      FROM operator_passkeys JOIN operators ON operators.id = operator_id
     WHERE credential_id = ${credential_id} AND disabled_at IS NULL`;
  return row;
}

/** Returns false if the passkey was deleted, or used with this count, at the same time. Some never count and send 0. */
export async function markPasskeyUsed(ctx: Pick<Context, 'db'>, id: string, counter: number): Promise<boolean> {
  const used = await ctx.db.system`
    UPDATE operator_passkeys SET counter = ${counter}, used_at = now()
     WHERE id = ${id} AND (counter < ${counter} OR (counter = 0 AND ${counter} = 0))`;
  return used.count > 0;
}

export async function hasPasskeys(sql: Sql | Tx, operator_id: string): Promise<boolean> {
  const rows = await sql`SELECT FROM operator_passkeys WHERE operator_id = ${operator_id} LIMIT 1`;
  return rows.length > 0;
}

/** Deletes one of an operator's own passkeys. Returns false if there is no such passkey. */
export async function deletePasskey(tx: Tx, operator_id: string, id: string): Promise<boolean> {
  const deleted = await tx`DELETE FROM operator_passkeys WHERE operator_id = ${operator_id} AND id = ${id}`;
  return deleted.count > 0;
}

export async function deleteOperatorPasskeys(tx: Tx, operator_id: string): Promise<void> {
  await tx`DELETE FROM operator_passkeys WHERE operator_id = ${operator_id}`;
}
