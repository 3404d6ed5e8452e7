import { type ApiError, apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { KindName } from '../../../model/records/kinds.ts';
import type { PatientChanges } from '../../../model/requests/patients.ts';
import type { Fragment, Query } from '../../../platform/db/database.ts';
import type { Account } from '../../accounts/accounts.ts';
import { connectAccount } from '../../accounts/connectAccount.ts';
import type { Context } from '../../context.ts';
import { errorUnlessPending, pendingKinds } from '../../records/readRecords.ts';

/** What the ids in a patient request refer to, according to the synced records. */
export type References = {
  insurance: { ehr_id: string; name: string } | null;
  referring: string | null;
  pcp: string | null;
  referred_to: boolean;
  facility: boolean;
  pharmacy: string | null;
  /** Fields that the practice requires in addition to ours. */
  required: string[];
  /** Kinds whose first sync has not finished. */
  pending: KindName[];
  /** The current date in the time zone of the EMR instance. */
  today: string;
};

type Sent = string | null | undefined;

const referenced = ['insurance_providers', 'referring_providers', 'providers', 'locations', 'pharmacies'] as const;

/** One query for all references. */
export function selectReferences(sql: Query, organization_id: string, body: PatientChanges): Fragment {
  const id = (text: Sent) => (text && parseId(text)) || null;
  // Inactive records of the reference lists count as unknown. Providers have a status of their own, for schedules.
  const active = sql`AND status = 'active'`;
  const ehrId = (table: string, text: Sent, condition = active) => sql`
    (SELECT ehr_id FROM ${sql(table)} WHERE organization_id = ${organization_id} AND id = ${id(text)} ${condition})`;
  const exists = (table: string, ehr_id: Sent) => sql`
    EXISTS (SELECT FROM ${sql(table)} WHERE organization_id = ${organization_id} AND ehr_id = ${ehr_id ?? null})`;
  return sql`SELECT
    (SELECT json_build_object('ehr_id', ehr_id, 'name', doc ->> 'name') FROM insurance_providers
      WHERE organization_id = ${organization_id} AND id = ${id(body.insurance_provider_id)} ${active}) AS insurance,
    ${ehrId('referring_providers', body.referring_provider_id)} AS referring,
    coalesce(${ehrId('referring_providers', body.pcp_id)}, ${ehrId('providers', body.pcp_id, sql``)}) AS pcp,
    ${exists('providers', body.referred_to_provider_id)} AS referred_to,
    ${exists('locations', body.default_facility_id)} AS facility,
    coalesce(${ehrId('pharmacies', body.pharmacy_id)}, (SELECT ehr_id FROM pharmacies
      WHERE organization_id = ${organization_id} AND ehr_id = ${body.pharmacy_id ?? null} ${active})) AS pharmacy,
    coalesce((SELECT code_lists -> 'required_patient_fields' FROM organizations
      WHERE id = ${organization_id}), '[]') AS required,
    ${pendingKinds(sql, organization_id, referenced)} AS pending,
    ${selectToday(sql, organization_id)} AS today`;
}

/** A subquery for the current date in the time zone of the EMR instance. */
export function selectToday(sql: Query, organization_id: string): Fragment {
  return sql`(SELECT to_char(now() AT TIME ZONE timezone, 'YYYY-MM-DD') FROM organizations WHERE id = ${organization_id})`;
}

/** Throws if a date of birth is after today at the practice. Dates before 1880 do not pass the schema. */
export function rejectFutureBirth(field: string, date: string | null | undefined, today: string): void {
  if (!date || date <= today) return;
  throw apiError(
    'invalid_field',
    { rule: `${field} must not be in the future` },
    { field: field.split('.')[0] ?? field },
  );
}

/** Checks the references that must exist both in a creation and in an update. */
export function checkPlaces(references: References, body: PatientChanges): void {
  const unknown = (kind: KindName, error: ApiError) => errorUnlessPending(references.pending, [kind], error);
  const { referred_to_provider_id, default_facility_id, pharmacy_id } = body;
  if (referred_to_provider_id && !references.referred_to) {
    const field = 'referred_to_provider_id';
    throw unknown('providers', apiError('provider_not_found', { id: referred_to_provider_id }, { field }));
  }
  if (default_facility_id && !references.facility) {
    const field = 'default_facility_id';
    throw unknown('locations', apiError('location_not_found', { id: default_facility_id }, { field }));
  }
  if (pharmacy_id && references.pharmacy === null) {
    const field = 'pharmacy_id';
    throw unknown('pharmacies', apiError('pharmacy_not_found', { id: pharmacy_id }, { field }));
  }
}

export type Role = 'referring_provider' | 'pcp';

/** First and last name must be sent together. */
export function checkNamePair(role: Role, body: PatientChanges): void {
  const [first, last] = [`${role}_first_name`, `${role}_last_name`] as const;
  if (Boolean(body[first]) === Boolean(body[last])) return;
  const rule = `${first} and ${last} must be used together`;
  throw apiError('invalid_field', { rule }, { field: body[first] ? last : first });
}

const id_fields = {
  insurance_provider_id: { noun: 'Insurance provider', kinds: ['insurance_providers'] },
  referring_provider_id: { noun: 'Referring provider', kinds: ['referring_providers'] },
  pcp_id: { noun: 'Primary care provider', kinds: ['referring_providers', 'providers'] },
} as const satisfies Partial<Record<keyof PatientChanges, { noun: string; kinds: readonly KindName[] }>>;

export function idNotFound(references: References, field: keyof typeof id_fields, body: PatientChanges): ApiError {
  const { noun, kinds } = id_fields[field];
  const not_found = apiError('record_not_found', { noun, id: String(body[field]) }, { field });
  return errorUnlessPending(references.pending, kinds, not_found);
}

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
    const { operations } = await connectAccount(ctx, who, AbortSignal.timeout(lookup_ms));
    const named: NamedDoctors = {};
    for (const { role, ...name } of sent) {
      const doctors = await operations.findReferringProviders?.(name);
      if (doctors) named[role] = doctors.filter(({ status }) => status === 'active').map(({ ehr_id }) => ehr_id);
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
