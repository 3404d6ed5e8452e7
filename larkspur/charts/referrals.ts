import { Type } from 'typebox';
import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import { findProvider, findReferringProvider } from '../practice/providers.ts';
import { id, idOrNull, text, textOrNull, timestamp, usDate } from '../records/fields.ts';
import { type Page, type RowOf, recordKind } from '../records/recordKind.ts';

/** Directions, seen from the practice: patients come in, or are sent out. */
export const directions = { I: 'Incoming', O: 'Outgoing' } as const;
export const priorities = { R: 'Routine', U: 'Urgent', S: 'Stat' } as const;
export const statuses = {
  OPEN: 'Open',
  SCHEDULED: 'Scheduled',
  COMPLETED: 'Completed',
  CLOSED: 'Closed',
} as const;

export const directionCode = Type.Enum(Object.keys(directions) as (keyof typeof directions)[]);
export const priorityCode = Type.Enum(Object.keys(priorities) as (keyof typeof priorities)[]);
export const statusCode = Type.Enum(Object.keys(statuses) as (keyof typeof statuses)[]);

const row = Type.Object({
  referralId: id,
  patientId: id,
  direction: directionCode,
  fromProviderId: idOrNull,
  toProviderId: idOrNull,
  priorityCode,
  urgency: textOrNull,
  reason: text,
  icdCodes: Type.Array(text),
  statusCode,
  referralDate: usDate,
  createdAt: timestamp,
  createdBy: text,
  lastActivityAt: timestamp,
});

/** Incoming ones are from a referring provider to a provider of the practice, outgoing ones the reverse. */
export const referrals = recordKind(
  {
    ...{ table: 'referrals', record: 'referral', id: 'referralId' },
    ...{ created_column: 'createdAt', updated_column: 'lastActivityAt' },
  },
  row,
  { priorityCode: 'R', reason: '', icdCodes: [], statusCode: 'OPEN', createdBy: '' },
);

/** A referral with its patient, the names of its providers and its documents. */
export interface Referral extends RowOf<typeof referrals> {
  mrn: string;
  patientFirstName: string;
  patientLastName: string;
  birthDate: string | null;
  fromProviderName: string | null;
  toProviderName: string | null;
  documents: { documentId: string; fileName: string; contentType: string; sizeBytes: number }[];
}

/** In the order of their ids. */
export function listReferrals(sql: Query, page: Page) {
  return selectReferrals(sql, { filter: sql`true`, order: sql`length(referral_id), referral_id`, page });
}

/** The newest first. `search`: part of the MRN or the patient's name. */
export function searchReferrals(sql: Query, search: string, status: string, page: Page) {
  const filter = sql`(${status} = '' or status_code = ${status}) and (${search} = ''
    or strpos(lower(concat(patients.first_name, ' ', patients.last_name, ' ', patients.first_name, ' ', mrn)), lower(${search})) > 0)`;
  return selectReferrals(sql, { filter, order: newestFirst(sql), page });
}

export function listReferralsOfPatient(sql: Query, patientId: string, page: Page) {
  return selectReferrals(sql, { filter: sql`patient_id = ${patientId}`, order: newestFirst(sql), page });
}

export async function getReferral(sql: Query, referralId: string): Promise<Referral> {
  const one = { filter: sql`referral_id = ${referralId}`, order: sql`referral_id`, page: { page: 1, pageSize: 1 } };
  const [referral] = (await selectReferrals(sql, one)).rows;
  if (!referral) throw new EmrError('NOT_FOUND', `No referral with id '${referralId}'.`, { record: 'referral' });
  return referral;
}

export async function findMrnOfReferral(sql: Query, referralId: string): Promise<string | undefined> {
  const [patient] = await sql<{ mrn: string }[]>`
    select mrn from referrals join patients using (patient_id) where referral_id = ${referralId}`;
  return patient?.mrn;
}

/** The sides of a referral must be what its direction says, if they are anybody. */
export async function requireSides(
  sql: Query,
  sides: { direction: keyof typeof directions; fromProviderId: string | null; toProviderId: string | null },
): Promise<void> {
  const { direction, fromProviderId, toProviderId } = sides;
  const [outside, inside] = direction === 'I' ? [fromProviderId, toProviderId] : [toProviderId, fromProviderId];
  if (outside !== null && !(await findReferringProvider(sql, outside))) {
    const text = `No active referring provider with id '${outside}'.`;
    throw new EmrError('NOT_FOUND', text, { record: 'referring provider' });
  }
  if (inside !== null && !(await findProvider(sql, inside))) {
    throw new EmrError('NOT_FOUND', `No active provider with id '${inside}'.`, { record: 'provider' });
  }
}

async function selectReferrals(
  sql: Query,
  { filter, order, page: { page, pageSize } }: { filter: Fragment; order: Fragment; page: Page },
) {
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from referrals join patients using (patient_id) where ${filter}`;
  const rows = await sql<Referral[]>`
    select referral_id, patient_id, direction, from_provider_id, to_provider_id, priority_code, urgency, reason,
      icd_codes, status_code, referral_date, referrals.created_at, created_by, last_activity_at,
      mrn, patients.first_name as patient_first_name, patients.last_name as patient_last_name, birth_date,
      case direction when 'I' then ${outside(sql, 'from_provider_id')} else ${inside(sql, 'from_provider_id')} end
        as from_provider_name,
      case direction when 'O' then ${outside(sql, 'to_provider_id')} else ${inside(sql, 'to_provider_id')} end
        as to_provider_name,
      coalesce((select json_agg(json_build_object('documentId', document_id, 'fileName', file_name,
          'contentType', content_type, 'sizeBytes', size_bytes) order by length(document_id), document_id)
        from documents where documents.referral_id = referrals.referral_id), '[]') as documents
    from referrals join patients using (patient_id) where ${filter}
    order by ${order} limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

function newestFirst(sql: Query): Fragment {
  return sql`referral_date desc, length(referral_id) desc, referral_id desc`;
}

function inside(sql: Query, column: string): Fragment {
  return sql`(select display_name from providers where provider_id = ${sql(column)})`;
}

function outside(sql: Query, column: string): Fragment {
  return sql`(select concat(first_name, ' ', last_name) from referring_providers where referring_id = ${sql(column)})`;
}
