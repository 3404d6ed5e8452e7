import { type Static, Type } from 'typebox';
import { choices, date_time, day, emr_value, id, nullable } from '../fields.ts';
import { fold, nameColumn } from '../fold.ts';
import { byPhone, containsName, equals, phoneColumn, recordKind } from './recordKind.ts';

/** The states of a patient and every legal transition between them; a trigger rejects any other. */
export const patient_transitions = [
  ['pending', 'active'],
  ['pending', 'failed'],
  // The client changed the patient, and the create is attempted again.
  ['failed', 'pending'],
  ['active', 'pending_update'],
  ['pending_update', 'active'],
] as const;

export type PatientStatus = (typeof patient_transitions)[number][number];
export const patient_statuses = {
  pending: 'Waiting to be created in the EMR',
  active: 'Exists in the EMR',
  failed: 'Could not be created in the EMR',
  pending_update: 'Exists in the EMR, and an update is waiting',
} as const satisfies Record<PatientStatus, string>;

export const patient_sex = choices(
  { male: 'Male', female: 'Female', unknown: 'Unknown, or not recorded' },
  { description: 'Sex of the patient' },
);

const demographics = {
  first_name: Type.String(),
  middle_name: nullable(Type.String()),
  last_name: Type.String(),
  dob: emr_value.date,
  sex: patient_sex,
  phone: nullable(Type.String()),
  cell_phone: nullable(Type.String()),
  email: nullable(Type.String()),
  address_street: nullable(Type.String()),
  address_line2: nullable(Type.String()),
  address_city: nullable(Type.String()),
  address_state: nullable(Type.String()),
  address_zip: nullable(Type.String()),
  insurance_name: nullable(Type.String()),
  insurance_subscriber_number: nullable(Type.String()),
};

/** Present if the EMR says so. `status` is about our own writes. */
const chart = {
  chart_status: Type.Optional(
    choices(
      { active: 'The chart is in use', inactive: 'The chart is no longer in use' },
      { description: 'Whether the EMR uses the chart' },
    ),
  ),
  deceased: Type.Optional(Type.Boolean()),
};

export const PatientSource = Type.Object({ ehr_id: Type.String(), mrn: Type.String(), ...demographics, ...chart });
export type PatientSource = Static<typeof PatientSource>;

export const Patient = Type.Object(
  {
    id,
    ehr_id: nullable(Type.String({ examples: ['10001'] })),
    mrn: nullable(Type.String()),
    status: choices(patient_statuses, { description: 'State of the patient in Chartwire' }),
    ...demographics,
    ...chart,
    created_at: date_time,
    updated_at: date_time,
  },
  { schema_name: 'Patient', description: 'A patient' },
);
export type Patient = Static<typeof Patient>;

/** A patient that is read by its ID, which exists from the request on. */
export const PatientById = Type.Object(
  {
    ...Patient.properties,
    failure_reason: nullable(
      Type.String({ description: 'Why the patient could not be created; null unless the status is `failed`' }),
    ),
  },
  { schema_name: 'PatientById', description: 'A patient, with the reason if its creation failed' },
);
export type PatientById = Static<typeof PatientById>;

/** The columns that patients are found by. */
export function patientColumns(doc: Patient) {
  return {
    mrn: doc.mrn,
    status: doc.status,
    first_folded: nameColumn(doc.first_name),
    last_folded: nameColumn(doc.last_name),
    dob: doc.dob,
    phone: phoneColumn(doc.phone),
    cell_phone: phoneColumn(doc.cell_phone),
  };
}

export const patients = recordKind({
  name: 'patients',
  operation: 'listPatients',
  consent: 'patients',
  source: PatientSource,
  wire: Patient,
  labels: { singular: 'patient', plural: 'patients' },
  group: 'Patients',
  kept_columns: ['status', 'created_at'],
  written_by_us: true,
  row: ({ ehr_id, mrn, ...demographics }, id, stored) => {
    const now = new Date();
    const created_at = (stored?.created_at as Date | undefined) ?? now;
    const status = (stored?.status as PatientStatus | undefined) ?? 'active';
    const doc: Patient = {
      id,
      ehr_id,
      mrn,
      status,
      ...demographics,
      created_at: created_at.toISOString(),
      updated_at: now.toISOString(),
    };
    return { doc, ...patientColumns(doc), created_at };
  },
  announced: {
    fields: ['mrn', ...Object.keys(demographics), ...Object.keys(chart)],
    absent: { chart_status: 'active', deceased: false },
    columns: [],
    toEvent: ({ before, after, changed_fields }) => {
      const { id: patient_id, mrn, ehr_id } = after.doc as Patient;
      const data = { source: 'emr' as const, patient_id, mrn: mrn ?? '', ehr_id: ehr_id ?? '' };
      if (!before) return { type: 'patient.created', data };
      return { type: 'patient.updated', data: { ...data, changed_fields } };
    },
    toMergedEvent: ({ doc, surviving_ehr_id, surviving }) => {
      const { id: patient_id, mrn, ehr_id } = doc as Patient;
      const other = surviving as Patient | undefined;
      return {
        type: 'patient.merged',
        data: {
          ...{ source: 'emr', patient_id, mrn: mrn ?? '', ehr_id: ehr_id ?? '' },
          ...{ surviving_patient_id: other?.id ?? null, surviving_mrn: other?.mrn ?? null, surviving_ehr_id },
        },
      };
    },
    isOwn: (type, input, doc) =>
      type === 'patient.create' &&
      ['first_name', 'last_name'].every((name) => fold(String(input[name] ?? '')) === fold(String(doc[name] ?? ''))) &&
      String(input.dob ?? '').slice(0, 10) === doc.dob,
  },
  filters: {
    dob: equals('dob', day()),
    first_name: containsName('first_folded'),
    last_name: containsName('last_folded', { examples: ['Testpatient'] }),
    mrn: equals('mrn'),
    ehr_id: equals('ehr_id'),
    phone: byPhone(['phone', 'cell_phone'], 'Home or cell phone, compared by its digits'),
  },
  order: [{ column: 'last_folded' }, { column: 'first_folded' }],
  in_change_feed: true,
  mrn_column: 'mrn',
  counted: true,
  list: {
    returns: 'pages',
    page_size_max: 1000,
    summary: 'List patients',
    search: { summary: 'Search patients', schema_name: 'PatientSearch' },
  },
  dashboard_columns: ['last_name', 'first_name', 'mrn', 'dob', 'phone', 'status'],
});
