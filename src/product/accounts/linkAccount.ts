import { apiError } from '../../catalog/errors.ts';
import { newId, newToken } from '../../catalog/ids.ts';
import type { Credentials, SignIn } from '../../emr/connector.ts';
import { type SearchConstants, sameParams } from '../../emr/requestSettings.ts';
import type { Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import { unparkJobs } from '../jobs/park.ts';
import { addAccount, bindings, relinkAccount, replaceToken } from './accounts.ts';
import { forgetRefusals, listSupported, storeEvidence } from './capabilities.ts';
import { requireConnector } from './connectAccount.ts';
import { addOrganization } from './organizations.ts';

export type NewLink = {
  client_id: string;
  user_id: string;
  org_id: string;
  connector: string;
  emr_address: string;
  search_params: SearchConstants;
  /** The account to link again, in update mode. */
  account_id: string | null;
  emr_app_id: string | null;
  credentials: Credentials;
  signed_in: Extract<SignIn, { outcome: 'signed_in' }>;
};

/**
 * Stores an account after a successful sign-in, and its organization with the first account. Linking again keeps the
 * account and its access token, replaces the credentials and resumes parked jobs. It requires the same EMR user, or
 * later writes would be signed by someone else. An unlinked account is linked like a new one.
 */
export async function linkAccount(
  ctx: Context,
  tx: Tx,
  link: NewLink,
): Promise<{ account_id: string; organization_id: string }> {
  const organization_id = await ensureOrganization(tx, link);
  const [existing] = await tx<ExistingAccount[]>`
    SELECT id, status, emr_user_id, emr_user_name FROM accounts
     WHERE organization_id = ${organization_id} AND user_id = ${link.user_id} FOR NO KEY UPDATE`;
  if (existing?.status === 'revoked') {
    if (link.account_id !== null) throw apiError('link_token_invalid', undefined, { field: 'link_token' });
  } else if (existing) requireSameUser(existing, link.signed_in.user);
  const account_id = existing?.id ?? newId();
  const owner = { client_id: link.client_id, owner_id: account_id };
  const seal = (binding: string, value: string) => ctx.vault.seal(tx, owner, binding, value);
  const connector = requireConnector(ctx, link.connector);
  // Those of an app are stored with the app alone, so that a secret that its owner removes is gone.
  const credentials = link.emr_app_id === null ? link.credentials : {};
  const findings = { capabilities: connector.capabilities, ...link.signed_in };
  const linked = {
    credentials_sealed: await seal(bindings.credentials(account_id), JSON.stringify(credentials)),
    grant_sealed: await seal(bindings.grant(account_id), JSON.stringify(link.signed_in.grant)),
    user: link.signed_in.user,
    emr_app_id: link.emr_app_id,
    capabilities: link.signed_in.capabilities || link.signed_in.evidence ? listSupported(findings) : null,
    document_bytes_max: connector.documentBytesMax?.(link.signed_in.grant) ?? null,
    server_findings: connector.serverFindings?.(link.signed_in.grant) ?? [],
  };
  const access_token = newToken('access_token');
  const token = { hash: hashToken(access_token), sealed: await seal(bindings.token(account_id), access_token) };
  if (existing) {
    // A revoked token stays invalid: the account gets a new one.
    if (existing.status === 'revoked') await replaceToken(tx, account_id, token);
    await relinkAccount(tx, account_id, linked);
    await unparkJobs(tx, account_id, connector.limits.parallel_max);
  } else {
    const { client_id, user_id } = link;
    await addAccount(tx, { id: account_id, client_id, organization_id, user_id, token }, linked);
  }
  await forgetRefusals(tx, account_id);
  await storeEvidence(tx, { id: account_id, client_id: link.client_id }, findings);
  return { account_id, organization_id };
}

type ExistingAccount = { id: string; status: string; emr_user_id: string; emr_user_name: string };

/** Throws if someone other than the EMR user that the account was linked with signed in. */
export function requireSameUser(
  account: Pick<ExistingAccount, 'emr_user_id' | 'emr_user_name'>,
  user: { ehr_id: string },
): void {
  if (user.ehr_id !== account.emr_user_id) throw apiError('emr_user_mismatch', { name: account.emr_user_name });
}

async function ensureOrganization(tx: Tx, link: NewLink): Promise<string> {
  const { client_id, org_id, connector, emr_address, search_params, signed_in } = link;
  const { timezone, mrn_guess } = signed_in;
  const row = await addOrganization(tx, {
    client_id,
    org_id,
    connector,
    emr_address,
    search_params,
    timezone,
    mrn_guess,
  });
  // Two first links of one organization may run at once; the second to finish must be to the same EMR.
  if (row.connector !== connector) throw apiError('emr_name_mismatch');
  if (row.emr_address !== emr_address) throw apiError('emr_domain_mismatch');
  if (!sameParams(row.search_params, search_params)) {
    throw apiError('search_params_mismatch', undefined, { field: 'search_params' });
  }
  return row.id;
}
