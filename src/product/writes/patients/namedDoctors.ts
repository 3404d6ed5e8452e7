import type { Account } from '../../accounts/accounts.ts';
import { openAccount } from '../../accounts/openAccount.ts';
import { apiError } from '../../../catalog/errors.ts';
import { EmrFailure } from '../../../emr/connector.ts';
import type { Context } from '../../context.ts';
import type { PatientChanges } from '../../../model/patientRequest.ts';
import type { Role } from './patientReferences.ts';

/** EMR ids of the active doctors with the name that was sent, by role. Absent if the EMR could not be asked. */
export type NamedDoctors = Partial<Record<Role, string[]>>;

const roles: readonly Role[] = ['referring_provider', 'pcp'];
/** The client waits for the response. After this time the request is accepted, and its job resolves the name. */
const lookup_ms = 5_000;

/** Looks up the doctors that a change names without an id. The stored list may be older than the EMR's. */
export async function findNamedDoctors(ctx: Context, account: Account, changes: PatientChanges): Promise<NamedDoctors> {
  const sent = roles.flatMap((role) => {
    const [first_name, last_name] = [changes[`${role}_first_name`], changes[`${role}_last_name`]];
    return !changes[`${role}_id`] && first_name && last_name ? [{ role, first_name, last_name }] : [];
  });
  if (sent.length === 0) return {};
  try {
    const who = { client_id: account.client_id, account_id: account.id };
    const { operations } = await openAccount(ctx, who, AbortSignal.timeout(lookup_ms));
    const named: NamedDoctors = {};
    for (const { role, ...name } of sent) {
      const found = await operations.findReferringProviders?.(name);
      if (found) named[role] = found.filter(({ status }) => status === 'active').map(({ ehr_id }) => ehr_id);
    }
    return named;
  } catch (error) {
    if (error instanceof EmrFailure) return {};
    throw error;
  }
}

/** The EMR id of the only doctor with that name; an error if there is none, or more than one. */
export function onlyMatch(role: Role, matches: readonly string[], body: PatientChanges): string {
  const [only, ...more] = matches;
  if (only !== undefined && more.length === 0) return only;
  const name = `${body[`${role}_first_name`]} ${body[`${role}_last_name`]}`;
  const reason =
    only === undefined
      ? `No referring provider is named '${name}'. GET /v1/referring-providers lists all of them.`
      : `Several referring providers are named '${name}'. Send ${role}_id instead.`;
  throw apiError('record_unnamed', { reason }, { field: `${role}_last_name` });
}
