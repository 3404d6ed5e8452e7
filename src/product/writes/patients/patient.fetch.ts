import { apiError } from '../../../catalog/errors.ts';
import { newId } from '../../../catalog/ids.ts';
import { supportsField } from '../../../emr/connector.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import { hasSearchedName, type PatientSearch } from '../../../emr/operations/patients.ts';
import type { EmrEncounter } from '../../../emr/operations/telephoneEncounters.ts';
import { PatientFetchRequest } from '../../../model/liveChart.ts';
import type { PatientSource } from '../../../model/records/patients.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import type { Account } from '../../accounts/accounts.ts';
import { listCapabilities, requireConnector } from '../../accounts/connectAccount.ts';
import type { Context } from '../../context.ts';
import { patientIds } from '../../records/patients.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { rejectFutureBirth } from './patientReferences.ts';

type Emr = Pick<Operations, 'searchPatients'> & Partial<Operations>;

/** The parts of a chart, and the operation that reads each. What an EMR cannot read is null in every chart. */
const parts = {
  encounters: 'listEncounters',
  guarantors: 'listGuarantors',
  balances: 'getBalances',
  alerts: 'getAlerts',
  medications: 'listMedications',
  pharmacies: 'listPatientPharmacies',
} as const satisfies Record<string, keyof Operations>;

/** Each patient takes about six EMR requests; a search that matches more than this is rejected. */
const patients_max = 50;

/** The fields that each search method requires. Others are ignored. */
const criteria = {
  dob: ['dob'],
  name: ['first_name', 'last_name'],
  phone: ['phone'],
  mrn: ['mrn'],
} as const satisfies Record<PatientFetchRequest['search_by'], readonly (keyof PatientFetchRequest)[]>;

/** The search methods that the account's EMR supports. */
function listSearchMethods(ctx: Context, account: Account): PatientFetchRequest['search_by'][] {
  const connector = requireConnector(ctx, account.connector);
  const capabilities = listCapabilities(ctx, account);
  // Object.entries loses the type of the keys.
  const methods = Object.entries(criteria) as [PatientFetchRequest['search_by'], readonly string[]][];
  return methods
    .filter(([, fields]) => fields.every((each) => supportsField(connector, capabilities, 'searchPatients', each)))
    .map(([method]) => method);
}

/** The zone in which each day begins first: nowhere else is it later. */
const first_zone = 'Pacific/Kiritimati';

/** Reads patients live from the EMR. Nothing is written, so an attempt can be repeated freely. */
export const fetchPatients = defineWrite({
  type: 'patient.fetch',
  label: 'Live patient fetch',
  plural_label: 'Live patient fetches',
  body: PatientFetchRequest,
  sample: { search_by: 'mrn', mrn: 'LK100001', include: 'insurances' },
  reads_only: true,
  needs: ['searchPatients'],
  restricted: false,
  stored_by: 'searchPatients',
  restricted_fields: ['include'],
  sentFields: (body) => (included(body).includes('insurances') ? ['include'] : []),
  check: async ({ ctx, account, body }) => {
    const methods = listSearchMethods(ctx, account);
    if (!methods.includes(body.search_by)) {
      const supported = methods.join(', ');
      throw apiError('search_not_supported', { search_by: body.search_by, supported }, { field: 'search_by' });
    }
    const missing = criteria[body.search_by].find((field) => body[field] === undefined);
    if (missing) throw apiError('missing_field', { field: missing }, { field: missing });
    if (body.search_by === 'dob') rejectFutureBirth('dob', body.dob, todayIn(first_zone));
    const include = included(body);
    if (include.some((each) => !['insurances', 'tasks'].includes(each)))
      throw apiError('invalid_field', { rule: 'include takes only: insurances, tasks' }, { field: 'include' });
    if (include.includes('tasks') && !listCapabilities(ctx, account).includes('listTasks'))
      throw apiError('unsupported_field', { field: 'include' }, { field: 'include' });
    // A lane of its own: a read neither waits for other jobs nor delays them.
    return { lane: { key: `fetch:${newId()}` }, lookups: {} };
  },
  acceptedResponse: ({ job_id }) => ({
    success: true,
    message: 'Patient fetch queued. A webhook event follows on completion.',
    job_id,
  }),
  run: async ({ input, emr, emr_user, db, scope }) => {
    const fields: readonly (keyof PatientSearch)[] = criteria[input.search_by];
    const search: PatientSearch = Object.fromEntries(fields.map((field) => [field, input[field]]));
    // Again, whatever the connector does: of a single match, the chart is shown as that of the person searched for.
    const matches = (await emr.searchPatients(search)).filter((patient) => hasSearchedName(patient, search));
    if (matches.length > patients_max) {
      const message = `More than ${patients_max} patients match. Narrow the search.`;
      throw new EmrFailure('refused', message, { code: 'too_many_matches' });
    }
    const include = included(input);
    const ids = await patientIds(
      db,
      scope,
      matches.map(({ ehr_id }) => ehr_id),
    );
    const patients: Record<string, unknown>[] = [];
    for (const patient of matches) {
      const chart = await readChart(emr, patient, include, emr_user.timezone);
      patients.push({ id: ids.get(patient.ehr_id) ?? null, ...chart });
    }
    const [only] = patients;
    const not_available = listNotAvailable(emr);
    const data = {
      ...(patients.length === 1 ? only : {}),
      success: true,
      patient_count: patients.length,
      patients,
      ...(not_available.length > 0 && { not_available }),
    };
    return { event: { type: 'patient.live_fetch_completed', data } };
  },
  onFailure: ({ failure }) => {
    return { state: 'failed', event: { type: 'patient.live_fetch_failed', data: failureFields(failure) } };
  },
});

function included({ include }: PatientFetchRequest): string[] {
  const names = typeof include === 'string' ? include.split(',') : (include ?? []);
  return names.map((name) => name.trim()).filter((name) => name !== '');
}

function listNotAvailable(emr: Emr): string[] {
  return Object.entries(parts)
    .filter(([, operation]) => emr[operation] === undefined)
    .map(([part]) => part);
}

async function readChart(
  emr: Emr,
  patient: PatientSource,
  include: readonly string[],
  timezone: string,
): Promise<Record<string, unknown>> {
  const { ehr_id } = patient;
  const encounters = await emr.listEncounters?.(ehr_id);
  const balances = await valueOr(emr.getBalances?.(ehr_id), { patient_balance: null, account_balance: null });
  const medications = await emr.listMedications?.(ehr_id);
  const pharmacies = await emr.listPatientPharmacies?.(ehr_id);
  return {
    ...patient,
    last_appointment_date: encounters ? lastVisit(encounters, timezone) : null,
    guarantors: emr.listGuarantors ? await valueOr(emr.listGuarantors(ehr_id), []) : null,
    ...balances,
    alerts: await valueOr(emr.getAlerts?.(ehr_id), null),
    medications:
      medications
        ?.filter((each) => each.active)
        .map(({ name, strength, frequency, start_date, refills, notes }) => ({
          name,
          strength,
          frequency,
          start_date: start_date && `${start_date.slice(5, 7)}/${start_date.slice(8)}/${start_date.slice(0, 4)}`,
          refills,
          notes,
        })) ?? null,
    pharmacies: pharmacies?.map(({ ehr_id: pharmacy_id, ...shown }) => ({ pharmacy_id, ...shown })) ?? null,
    encounters: encounters?.map(({ cancelled: _cancelled, ...shown }) => shown) ?? null,
    ...(include.includes('insurances') &&
      emr.listPatientInsurances && { insurances: await emr.listPatientInsurances(ehr_id) }),
    ...(include.includes('tasks') && emr.listTasks && { tasks: await emr.listTasks(ehr_id) }),
  };
}

/** A lookup whose failure does not fail the fetch, unless the account's link has expired. */
async function valueOr<T, U>(lookup: Promise<T> | undefined, otherwise: U): Promise<T | U> {
  if (!lookup) return otherwise;
  try {
    return await lookup;
  } catch (error) {
    if (error instanceof EmrFailure && error.kind !== 'login_required') return otherwise;
    throw error;
  }
}

/** The date of the most recent past encounter that is neither cancelled nor a telephone call. */
function lastVisit(encounters: EmrEncounter[], timezone: string): string | null {
  const today = todayIn(timezone);
  const days = encounters.flatMap(({ date, visit_type, cancelled }) =>
    date !== null && visit_type !== 'TEL' && !cancelled ? [date] : [],
  );
  return (
    days
      .filter((day) => day <= today)
      .sort()
      .at(-1) ?? null
  );
}
