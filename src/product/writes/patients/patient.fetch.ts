import { apiError } from '../../../catalog/errors.ts';
import { newId } from '../../../catalog/ids.ts';
import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { Operations } from '../../../emr/operations/operations.ts';
import { hasSearchedName, type PatientSearch } from '../../../emr/operations/patients.ts';
import type { EmrEncounter } from '../../../emr/operations/telephoneEncounters.ts';
import { PatientFetchRequest } from '../../../model/liveChart.ts';
import type { PatientSource } from '../../../model/records/patients.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import { patientIds } from '../../records/patients.ts';
import { defineWrite, failureFields } from '../defineWrite.ts';
import { rejectFutureBirth } from './patientReferences.ts';

type Needs = 'searchPatients' | 'listMedications' | 'listPatientPharmacies' | 'listEncounters';
type Emr = Pick<Operations, Needs> & Partial<Operations>;

/** Each patient takes about six EMR requests; a search that matches more than this is rejected. */
const patients_max = 50;

/** The fields that each search method requires. Others are ignored. */
const criteria = {
  dob: ['dob'],
  name: ['first_name', 'last_name'],
  phone: ['phone'],
  mrn: ['mrn'],
} as const satisfies Record<PatientFetchRequest['search_by'], readonly (keyof PatientFetchRequest)[]>;

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
  needs: ['searchPatients', 'listMedications', 'listPatientPharmacies', 'listEncounters'],
  restricted: false,
  stored_by: 'searchPatients',
  restricted_fields: ['include'],
  sentFields: (body) => (included(body).includes('insurances') ? ['include'] : []),
  check: async ({ body }) => {
    const missing = criteria[body.search_by].find((field) => body[field] === undefined);
    if (missing) throw apiError('missing_field', { field: missing }, { field: missing });
    if (body.search_by === 'dob') rejectFutureBirth('dob', body.dob, todayIn(first_zone));
    const unknown = included(body).find((each) => each !== 'insurances');
    if (unknown !== undefined)
      throw apiError('invalid_field', { rule: 'include takes only: insurances' }, { field: 'include' });
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
    const with_insurances = included(input).includes('insurances');
    const ids = await patientIds(
      db,
      scope,
      matches.map(({ ehr_id }) => ehr_id),
    );
    const patients: Record<string, unknown>[] = [];
    for (const patient of matches) {
      const chart = await readChart(emr, patient, with_insurances, emr_user.timezone);
      patients.push({ id: ids.get(patient.ehr_id) ?? null, ...chart });
    }
    const [only] = patients;
    const data = { ...(patients.length === 1 ? only : {}), success: true, patient_count: patients.length, patients };
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

async function readChart(
  emr: Emr,
  patient: PatientSource,
  with_insurances: boolean,
  timezone: string,
): Promise<Record<string, unknown>> {
  const { ehr_id } = patient;
  const encounters = await emr.listEncounters(ehr_id);
  const balances = await valueOr(emr.getBalances?.(ehr_id), { patient_balance: null, account_balance: null });
  const medications = await emr.listMedications(ehr_id);
  return {
    ...patient,
    last_appointment_date: lastVisit(encounters, timezone),
    guarantors: await valueOr(emr.listGuarantors?.(ehr_id), []),
    ...balances,
    alerts: await valueOr(emr.getAlerts?.(ehr_id), null),
    medications: medications
      .filter((each) => each.active)
      .map(({ name, strength, frequency, start_date, refills, notes }) => ({
        name,
        strength,
        frequency,
        start_date: start_date && `${start_date.slice(5, 7)}/${start_date.slice(8)}/${start_date.slice(0, 4)}`,
        refills,
        notes,
      })),
    pharmacies: (await emr.listPatientPharmacies(ehr_id)).map(({ ehr_id: pharmacy_id, ...shown }) => ({
      pharmacy_id,
      ...shown,
    })),
    encounters: encounters.map(({ cancelled: _cancelled, ...shown }) => shown),
    ...(with_insurances && emr.listPatientInsurances ? { insurances: await emr.listPatientInsurances(ehr_id) } : {}),
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
