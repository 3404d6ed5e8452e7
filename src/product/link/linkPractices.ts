import { apiError } from '../../catalog/errors.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { findPractice, type Practice } from '../directory/practices.ts';
import { findApps, searchPractices } from '../directory/searchPractices.ts';
import { chooseEmrApp, type Organization, requirePracticeApp } from './linkApps.ts';
import { withdrawConsent } from './linkConsents.ts';
import { type AnyPurpose, practiceEmr, setPractice } from './linkTokens.ts';
import { removePageSignIn } from './pageSignIns.ts';

/** A practice as Link shows it. `available`: the client has an EMR app for it. */
export type ShownPractice = Pick<Practice, 'id' | 'name' | 'city' | 'state' | 'parent'> & { available: boolean };

type Link = { token: string; purpose: AnyPurpose };

/** Practices that match what the person types. Nothing of the client is in the result but whether it has an EMR app. */
export async function findForLink(ctx: Context, { purpose }: Link, query: string): Promise<ShownPractice[]> {
  if (!purpose.finds_practice) throw apiError('practice_fixed');
  const practices = await searchPractices(ctx, purpose.client_id, { query });
  const apps = await findApps(ctx, purpose.client_id, practices);
  return practices.map((practice, at) => show(practice, (apps[at] ?? null) !== null));
}

/** The practice of a link, unless it was removed from the directory since. */
export async function readLinkPractice(tx: Tx, { practice_id }: AnyPurpose): Promise<ShownPractice | null> {
  const practice = practice_id === null ? undefined : await findPractice(tx, practice_id);
  return practice ? show(practice, true) : null;
}

function show({ id, name, city, state, parent }: Practice, available: boolean): ShownPractice {
  return { id, name, city, state, parent, available };
}

/**
 * The person chooses a practice, or another one than before. It must have an EMR app of the client: what a sign-in needs
 * without one is only known to administrators. Consent and sign-in for an earlier choice do not count for this one.
 */
export async function choosePractice(ctx: Context, tx: Tx, { token, purpose }: Link, id: string): Promise<Practice> {
  if (!purpose.finds_practice) throw apiError('practice_fixed');
  const practice = await findPractice(tx, id);
  if (!practice) throw apiError('practice_not_found', { id }, { field: 'practice_id' });
  const [organization] = await tx<Organization[]>`
    SELECT connector, emr_address, search_params FROM organizations WHERE org_id = ${purpose.org_id}`;
  const emr = practiceEmr(ctx, organization, practice);
  const emr_app_id = await chooseEmrApp(ctx, tx, emr, null);
  if (emr_app_id === null) throw apiError('practice_unavailable', undefined, { field: 'practice_id' });
  await requirePracticeApp(ctx, tx, emr, emr_app_id);
  const chosen = await setPractice(tx, token, { ...emr, emr_app_id, practice_id: practice.id });
  if (!chosen) throw apiError('link_token_invalid', undefined, { field: 'link_token' });
  await withdrawConsent(tx, token);
  await removePageSignIn(tx, token);
  return practice;
}
