import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import type { Context } from '../context.ts';
import type { Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/hash.ts';
import { type ConsentTerms, covers, hashTerms } from './consentTerms.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** `terms_id` names the terms that were shown. `required`: the person must agree before signing in. */
export type ConsentOffer = { terms_id: string; required: boolean };

type Given = { language: string; shown_text: string };

/**
 * Stores what the page is about to show. Other terms than before need a new consent. In update mode, the consent that
 * the account was linked with counts, unless the terms go beyond it.
 */
export async function offerConsent(
  tx: Tx,
  { token, purpose }: { token: string; purpose: LinkPurpose },
  terms: ConsentTerms,
): Promise<ConsentOffer> {
  const hash = hashToken(token);
  const terms_id = hashTerms(terms);
  const [account] =
    purpose.account_id === null
      ? []
      : await tx<{ id: string; terms: ConsentTerms }[]>`
          SELECT id, terms FROM link_consents WHERE account_id = ${purpose.account_id}`;
  if (account && covers(account.terms, terms)) {
    await tx`INSERT INTO link_consents (id, client_id, link_token_hash, terms, terms_hash, language, shown_text, given_at)
      SELECT ${newId()}, client_id, ${hash}, terms, terms_hash, language, shown_text, given_at
        FROM link_consents WHERE id = ${account.id}
      ON CONFLICT (link_token_hash) DO UPDATE SET terms = excluded.terms, terms_hash = excluded.terms_hash,
        language = excluded.language, shown_text = excluded.shown_text, given_at = excluded.given_at`;
    return { terms_id, required: false };
  }
  await tx`INSERT INTO link_consents AS known (id, client_id, link_token_hash, terms, terms_hash)
    VALUES (${newId()}, ${purpose.client_id}, ${hash}, ${tx.json(terms)}, ${terms_id})
    ON CONFLICT (link_token_hash) DO UPDATE SET terms = excluded.terms, terms_hash = excluded.terms_hash,
      language = NULL, shown_text = NULL, given_at = NULL
    WHERE known.terms_hash <> excluded.terms_hash`;
  return { terms_id, required: true };
}

/** Records that the person agreed. Returns the terms, or undefined if other ones were shown since. */
export async function giveConsent(
  tx: Tx,
  link_token: string,
  terms_id: string,
  { language, shown_text }: Given,
): Promise<ConsentTerms | undefined> {
  const [row] = await tx<{ terms: ConsentTerms }[]>`
    UPDATE link_consents SET language = ${language}, shown_text = ${shown_text}, given_at = now()
     WHERE link_token_hash = ${hashToken(link_token)} AND terms_hash = ${terms_id} RETURNING terms`;
  return row?.terms;
}

/** The terms that the person agreed to. Throws if nobody did: then nothing is sent to the EMR. */
export async function requireConsent(ctx: Context, client_id: string, link_token: string): Promise<ConsentTerms> {
  const [row] = await ctx.db.read<{ terms: ConsentTerms }>(
    client_id,
    (sql) => sql`
      SELECT terms FROM link_consents WHERE link_token_hash = ${hashToken(link_token)} AND given_at IS NOT NULL`,
  );
  if (!row) throw apiError('consent_required');
  return row.terms;
}

/** The account keeps the consent that it was linked with. A link without a page has none. */
export async function keepConsent(tx: Tx, link_token: string, account_id: string): Promise<void> {
  await tx`INSERT INTO link_consents (id, client_id, account_id, terms, terms_hash, language, shown_text, given_at)
    SELECT ${newId()}, client_id, ${account_id}, terms, terms_hash, language, shown_text, given_at
      FROM link_consents WHERE link_token_hash = ${hashToken(link_token)} AND given_at IS NOT NULL
    ON CONFLICT (account_id) DO UPDATE SET terms = excluded.terms, terms_hash = excluded.terms_hash,
      language = excluded.language, shown_text = excluded.shown_text, given_at = excluded.given_at`;
}
