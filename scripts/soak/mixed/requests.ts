import type { Chance } from '../../../larkspur/seed/random.ts';
import type { Sandbox } from '../../../src/surfaces/sandbox/seedSandbox.ts';

/** A request of the load. `body` is created for each attempt: a form can be sent only once. */
export type WriteRequest = { kind: string; method: string; path: string; body: () => object };

/** What the requests of one account refer to, and the kinds of requests that its EMR supports. */
export type Chart = {
  example: Partial<Sandbox['example']>;
  visit_type: string;
  patients: readonly { id: string; mrn: string }[];
  kinds: RequestKinds;
};

type RequestKinds = readonly [CreateRequest, ...CreateRequest[]];

/** A text that only the n-th write of a run contains. Letters only, because it is also used as a name. */
export function composeToken(n: number): string {
  const letters = [...n.toString(26).padStart(6, '0')].map((digit) => Number.parseInt(digit, 26));
  return `Soak${letters.map((letter) => String.fromCharCode(97 + letter)).join('')}`;
}

/** The next request of a writer. */
export function createRequest(chance: Chance, chart: Chart, token: string): WriteRequest {
  const patient = chart.patients[chance.below(chart.patients.length)];
  if (!patient) throw new Error('There are no patients.');
  return chance.pick(chart.kinds)(chart, patient, token, chance);
}

type CreateRequest = (chart: Chart, patient: Chart['patients'][number], token: string, chance: Chance) => WriteRequest;

const encounter: CreateRequest = ({ example }, { mrn }, reason) => {
  const { provider_id, location_id, assigned_to_id } = example;
  return json('telephone_encounter', 'POST', '/v1/telephone-encounters', {
    ...{ patient_mrn: mrn, provider_id, location_id, assigned_to_id, reason },
  });
};

/** Only the first patient has the medication. */
const refill: CreateRequest = ({ example }, _patient, reason) => {
  const { patient_mrn, provider_id, location_id, assigned_to_id, pharmacy_ehr_id } = example;
  return json('refill', 'POST', '/v1/telephone-encounters', {
    ...{ patient_mrn, provider_id, location_id, assigned_to_id, reason },
    ...{ refill_medication_name: 'Lisinopril', pharmacy_ehr_id },
  });
};

/** Encounters that Larkspur was seeded with. */
const action: CreateRequest = (_chart, _patient, text, chance) =>
  json('action', 'POST', '/v1/telephone-encounters/actions', {
    emr_appointment_id: `${30_001 + chance.below(40)}`,
    text,
  });

const appointment: CreateRequest = ({ example, visit_type }, { mrn }, reason, chance) => {
  const [month, day, hour] = [1 + chance.below(12), 1 + chance.below(28), 8 + chance.below(9)].map((part) =>
    `${part}`.padStart(2, '0'),
  );
  const { provider_id: provider, location_id: location } = example;
  const datetime = `2031-${month}-${day}T${hour}:00:00-05:00`;
  const body = { mrn, location, provider, type: visit_type, datetime, reason };
  return json('appointment', 'POST', '/v1/appointments', body);
};

const newPatient: CreateRequest = (_chart, _patient, last_name) =>
  json('patient.create', 'POST', '/v1/patients', {
    ...{ first_name: 'Synthetic', last_name, dob: '1990-05-14', sex: 'female', phone: '518-555-0191' },
    ...{ address_street: '5 Placeholder Lane', address_city: 'Exampleton', address_state: 'NY', address_zip: '12999' },
    email: 'synthetic@example.org',
  });

const patientUpdate: CreateRequest = (_chart, { id }, address_street) =>
  json('patient.update', 'PATCH', `/v1/patients/${id}`, { address_street });

const insurance: CreateRequest = (_chart, { mrn }, member_id) =>
  json('insurance.add', 'POST', `/v1/patients/${mrn}/insurances`, {
    ...{ member_id, insurance_name: 'Mock Mutual', group_id: 'GRP8403', priority: '3' },
  });

const fetchPatient: CreateRequest = (_chart, _patient, last_name) =>
  json('patient.fetch', 'POST', '/v1/patients/fetch', { search_by: 'name', first_name: 'Synthetic', last_name });

const upload: CreateRequest = (_chart, { mrn }, notes) => ({
  kind: 'document',
  method: 'POST',
  path: '/v1/documents',
  body: () => {
    const form = new FormData();
    form.set('folder_name', 'Soak');
    form.set('patient_mrn', mrn);
    form.set('notes', notes);
    form.set('document', new Blob([pdf]), 'synthetic.pdf');
    return form;
  },
});

function json(kind: string, method: string, path: string, body: object): WriteRequest {
  return { kind, method, path, body: () => body };
}

const pdf = Buffer.from(
  '%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [] /Count 0 >> endobj\n' +
    'xref\n0 3\n0000000000 65535 f \n0000000009 00000 n \n0000000058 00000 n \n' +
    'trailer << /Size 3 /Root 1 0 R >>\nstartxref\n0000000113\n%%EOF\n',
);

/** Telephone encounters are the most frequent write. */
export const larkspur_kinds: RequestKinds = [
  ...([encounter, encounter, encounter, encounter, encounter] as const),
  ...[refill, action, action, appointment, appointment, newPatient, patientUpdate, patientUpdate],
  ...[insurance, fetchPatient, upload],
];

/** Creates have lanes of their own, so that several jobs of an account run at the same time. */
export const fhir_kinds: RequestKinds = [
  newPatient,
  newPatient,
  appointment,
  appointment,
  patientUpdate,
  patientUpdate,
];
