import { createHash } from 'node:crypto';
import { apiError } from '../../catalog/errors.ts';
import { newId } from '../../catalog/ids.ts';
import {
  type Capability,
  type OperationName,
  operations,
  read_names,
  write_names,
} from '../../emr/operations/operations.ts';
import { read_subjects, write_subjects } from '../../model/consents.ts';
import { record_kinds } from '../../model/records/kinds.ts';
import type { Tx } from '../../platform/db/database.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import type { Context } from '../context.ts';
import type { LinkPurpose } from './linkTokens.ts';

/** What a person agrees to in Link: who gets access, to which EMR, where the sign-in happens, and what for. */
export type ConsentTerms = {
  client: string;
  organization: string;
  emr: string;
  emr_address: string;
  /** By sign-in method; `default` if the EMR has only one. Methods whose host is not known are missing. */
  sign_in_hosts: Record<string, string>;
  access: LinkAccess;
};

export function hashTerms(terms: ConsentTerms): string {
  return createHash('sha256').update(JSON.stringify(terms)).digest('hex');
}

/** Whether a consent still covers what Link would show now. Less access than agreed needs no new consent. */
export function covers(consented: ConsentTerms, now: ConsentTerms): boolean {
  const same =
    consented.client === now.client &&
    consented.organization === now.organization &&
    consented.emr === now.emr &&
    consented.emr_address === now.emr_address;
  return (
    same &&
    isWithin(Object.values(now.sign_in_hosts), Object.values(consented.sign_in_hosts)) &&
    isWithin(now.access.reads, consented.access.reads) &&
    isWithin(now.access.writes, consented.access.writes)
  );
}

function isWithin(some: readonly string[], all: readonly string[]): boolean {
  return some.every((each) => all.includes(each));
}

/** What an account can do in the EMR, as Link says it to people. `known`: as stated by this server. */
export type LinkAccess = { known: boolean; reads: string[]; writes: string[] };

export function toAccess(capabilities: readonly Capability[], known: boolean): LinkAccess {
  const isOffered = (name: OperationName) => capabilities.includes(name);
  const read = new Set([
    ...record_kinds.filter(({ operation }) => isOffered(operation)).map(({ consent }) => consent),
    ...read_names.filter(isOffered).map((name) => operations[name].consent),
  ]);
  const written = new Set(write_names.filter(isOffered).map((name) => operations[name].consent));
  return {
    known,
    reads: read_subjects.filter((subject) => read.has(subject)),
    writes: write_subjects.filter((subject) => written.has(subject)),
  };
}

/** `terms_id` names the terms that were shown. `required`: the person must agree before signing in. */
export type ConsentOffer = { terms_id: string; required: boolean };

type ShownTerms = { language: string; shown_text: string };

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
  { language, shown_text }: ShownTerms,
): Promise<ConsentTerms | undefined> {
  const [row] = await tx<{ terms: ConsentTerms }[]>`
    UPDATE link_consents SET language = ${language}, shown_text = ${shown_text}, given_at = now()
     WHERE link_token_hash = ${hashToken(link_token)} AND terms_hash = ${terms_id} RETURNING terms`;
  return row?.terms;
}

/** Forgets what was shown and agreed to in a link, because the person has chosen another practice. */
export async function withdrawConsent(tx: Tx, link_token: string): Promise<void> {
  await tx`DELETE FROM link_consents WHERE link_token_hash = ${hashToken(link_token)}`;
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
