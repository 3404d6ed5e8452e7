import type { Credentials, SignIn } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../db/database.ts';
import { apiError } from '../errors.ts';
import { newId, newReference, newToken } from '../ids.ts';
import { unparkJobs } from '../jobs/park.ts';
import { hashToken } from '../security/hash.ts';
import { bindings } from './accounts.ts';
import { connectorOf } from './openAccount.ts';

export type NewLink = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  credentials: Credentials;
  signed_in: Extract<SignIn, { outcome: 'signed_in' }>;
};

/**
 * Stores an account after a successful sign-in, and its organization with the first account. Linking again keeps the
 * account and its access token, replaces the credentials and resumes parked jobs.
 */
export async function linkAccount(
  ctx: Context,
  tx: Tx,
  link: NewLink,
): Promise<{ account_id: string; organization_id: string }> {
  const organization_id = await ensureOrganization(tx, link);
  const [known] = await tx<{ id: string; status: string }[]>`
    SELECT id, status FROM accounts WHERE organization_id = ${organization_id} AND user_id = ${link.user_id} FOR UPDATE`;
  const account_id = known?.id ?? newId();
  const owner = { client_id: link.client_id, owner_id: account_id };
  const seal = (binding: string, value: string) => ctx.vault.seal(tx, owner, binding, value);
  const credentials = await seal(bindings.credentials(account_id), JSON.stringify(link.credentials));
  const grant = await seal(bindings.grant(account_id), JSON.stringify(link.signed_in.grant));
  const { user } = link.signed_in;
  const offers = link.signed_in.capabilities ? [...link.signed_in.capabilities] : null;
  const token = newToken('access_token');
  const token_sealed = await seal(bindings.token(account_id), token);
  if (known) {
    // A revoked token stays invalid: the account gets a new one.
    if (known.status === 'revoked') {
      await tx`UPDATE accounts SET token_hash = ${hashToken(token)}, token_sealed = ${token_sealed}
                WHERE id = ${account_id}`;
    }
    await tx`UPDATE accounts SET status = 'active', status_reason = NULL, credentials_sealed = ${credentials},
      grant_sealed = ${grant}, emr_user_id = ${user.ehr_id}, emr_user_name = ${user.name}, offers = ${offers},
      linked_at = clock_timestamp()
      WHERE id = ${account_id}`;
    await unparkJobs(tx, account_id, connectorOf(ctx, link.connector).limits.parallel_max);
  } else {
    await tx`INSERT INTO accounts (id, client_id, organization_id, user_id, reference_id, token_hash, token_sealed,
        status, credentials_sealed, grant_sealed, emr_user_id, emr_user_name, offers)
      VALUES (${account_id}, ${link.client_id}, ${organization_id}, ${link.user_id},
        ${newReference('access_token_reference_id')}, ${hashToken(token)},
        ${token_sealed}, 'active', ${credentials}, ${grant}, ${user.ehr_id}, ${user.name}, ${offers})`;
  }
  await tx`SELECT pg_notify('chartwire_access', '')`;
  return { account_id, organization_id };
}

async function ensureOrganization(tx: Tx, link: NewLink): Promise<string> {
  // One account may see less of the EMR than another: if it cannot read the time zone, the practice keeps its zone.
  const zone = link.signed_in.timezone ?? null;
  const [row] = await tx<{ id: string; connector: string; emr_address: string }[]>`
    INSERT INTO organizations AS present (id, client_id, org_id, connector, emr_address, timezone)
      VALUES (${newId()}, ${link.client_id}, ${link.org_id}, ${link.connector}, ${link.emr_address},
              coalesce(${zone}::text, 'UTC'))
    ON CONFLICT (client_id, org_id) DO UPDATE SET timezone = coalesce(${zone}::text, present.timezone)
    RETURNING id, connector, emr_address`;
  if (!row) throw new Error('An upsert returned no row.');
  // Two first links of one organization may run at once; the second to finish must be to the same EMR.
  if (row.connector !== link.connector) throw apiError('emr_name_mismatch');
  if (row.emr_address !== link.emr_address) throw apiError('emr_domain_mismatch');
  return row.id;
}
