import type * as fhir from 'fhir/r4.js';
import type { Practice, Row } from './practice.ts';
import type { Reply } from './restRoutes.ts';

/** The FHIR half of OpenEMR 7.0.2, as far as reading goes. Unknown search parameters find nothing. */
export function handleFhir(practice: Practice, [type = '', id]: string[], query: URLSearchParams): Reply {
  const resource = resources[type];
  if (!resource)
    return fhirJson(404, { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'not-supported' }] });
  const all = resource.list(practice);
  if (id !== undefined) {
    const record = all.find((each) => each.id === id);
    // Not FHIR: unknown ids have an empty list as their body.
    return record ? fhirJson(200, record) : { status: 404, type: 'application/json', body: '[]' };
  }
  const matches = [...query].reduce(
    (left, [name, value]) => left.filter((each) => resource.params[name]?.(each, value) ?? false),
    all,
  );
  const entry = matches.map((each) => ({ fullUrl: `${type}/${each.id}`, resource: each }));
  return fhirJson(200, { resourceType: 'Bundle', type: 'collection', total: entry.length, entry });
}

export function capabilityStatement(oauth: { authorize: string; token: string }): fhir.CapabilityStatement {
  const uris = [
    { url: 'authorize', valueUri: oauth.authorize },
    { url: 'token', valueUri: oauth.token },
  ];
  return {
    resourceType: 'CapabilityStatement',
    status: 'active',
    date: '2026-01-01',
    kind: 'instance',
    fhirVersion: '4.0.1',
    format: ['application/json'],
    software: { name: 'OpenEMR', version: '7.0.2' },
    rest: [
      {
        mode: 'server',
        security: {
          extension: [
            { url: 'http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris', extension: uris },
          ],
        },
        resource: Object.entries(resources).map(([type, { params }]) => ({
          type: type as fhir.CapabilityStatementRestResource['type'],
          interaction: [{ code: 'search-type' as const }, { code: 'read' as const }],
          searchParam: Object.keys(params).map((name) => ({ name, type: 'string' as const })),
        })),
      },
    ],
  };
}

type Param = (resource: fhir.FhirResource, value: string) => boolean;
type Resource = { list: (practice: Practice) => fhir.FhirResource[]; params: Record<string, Param> };

const _id: Param = ({ id }, value) => value.split(',').includes(id ?? '');
const _lastUpdated: Param = ({ meta }, value) => compare(meta?.lastUpdated ?? '', value);

const resources: Record<string, Resource> = {
  Patient: {
    list: ({ patients }) => patients.map(toPatient),
    params: {
      _id,
      _lastUpdated,
      identifier: (each, value) =>
        (each as fhir.Patient).identifier?.some((one) => one.value === value.split('|').at(-1)) ?? false,
      family: (each, value) => startsWith([(each as fhir.Patient).name?.[0]?.family], value),
      given: (each, value) => startsWith((each as fhir.Patient).name?.[0]?.given ?? [], value),
      birthdate: (each, value) => compare((each as fhir.Patient).birthDate ?? '', value),
      phone: (each, value) =>
        (each as fhir.Patient).telecom?.some(
          (one) => one.system === 'phone' && value.split(',').includes(one.value ?? ''),
        ) ?? false,
    },
  },
  Practitioner: {
    list: ({ users }) => users.filter(({ npi }) => npi !== '').map(toPractitioner),
    params: {
      _id,
      _lastUpdated,
      family: (each, value) => startsWith([(each as fhir.Practitioner).name?.[0]?.family], value),
    },
  },
  Encounter: {
    list: ({ encounters, patients }) => encounters.map((row) => toEncounter(row, patients)),
    params: { _id, patient: (each, value) => isPatient((each as fhir.Encounter).subject, value) },
  },
  DocumentReference: {
    list: ({ documents, patients }) => documents.flatMap((row) => toDocument(row, patients)),
    params: { _id, _lastUpdated, patient: (each, value) => isPatient((each as fhir.DocumentReference).subject, value) },
  },
  MedicationRequest: {
    list: ({ medications, patients }) => medications.map((row) => toMedication(row, patients)),
    params: { _id, patient: (each, value) => isPatient((each as fhir.MedicationRequest).subject, value) },
  },
  Appointment: {
    list: ({ appointments, patients }) =>
      appointments.filter(({ pc_pid }) => pc_pid !== '').map((row) => toAppointment(row, patients)),
    params: { _id, date: (each, value) => compare((each as fhir.Appointment).start?.slice(0, 10) ?? '', value) },
  },
  // Facilities, and the homes of everyone.
  Location: {
    list: ({ facilities, patients }) => [
      ...patients.map((row) => ({
        resourceType: 'Location' as const,
        id: `home-${row.pid}`,
        name: 'Home Address',
        address: { state: String(row.state) },
      })),
      ...facilities.map((row) => ({
        resourceType: 'Location' as const,
        id: String(row.location_uuid),
        name: String(row.name),
        address: { state: String(row.state) },
      })),
    ],
    params: { _id },
  },
};

function startsWith(names: readonly (string | undefined)[], value: string): boolean {
  return value.split(',').some((each) => names.some((name) => name?.toLowerCase().startsWith(each.toLowerCase())));
}

function compare(stored: string, value: string): boolean {
  const [, prefix = 'eq', wanted = ''] = /^(ge|le|gt|lt|eq)?(.*)$/.exec(value) ?? [];
  const [one, other] = [Date.parse(stored), Date.parse(wanted)];
  if (prefix === 'ge' || prefix === 'gt') return one >= other;
  if (prefix === 'le' || prefix === 'lt') return one <= other;
  return one === other;
}

function isPatient(subject: fhir.Reference | undefined, value: string): boolean {
  return subject?.reference === `Patient/${value.replace(/^Patient\//, '')}`;
}

function toPatient(row: Row): fhir.Patient {
  const text = (name: string) => (row[name] ? String(row[name]) : undefined);
  return {
    resourceType: 'Patient',
    id: String(row.uuid),
    meta: { versionId: '1', lastUpdated: String(row.date) },
    active: true,
    identifier: [
      {
        use: 'official',
        type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v2-0203', code: 'PT' }] },
        value: String(row.pubpid),
      },
    ],
    name: [
      {
        use: 'official',
        family: String(row.lname),
        given: [String(row.fname), ...(row.mname ? [String(row.mname)] : [])],
      },
    ],
    telecom: [
      ...(text('phone_home') ? [{ system: 'phone' as const, use: 'home' as const, value: text('phone_home') }] : []),
      ...(text('phone_cell') ? [{ system: 'phone' as const, use: 'mobile' as const, value: text('phone_cell') }] : []),
      ...(text('email') ? [{ system: 'email' as const, use: 'home' as const, value: text('email') }] : []),
    ],
    gender: row.sex === 'Male' ? 'male' : row.sex === 'Female' ? 'female' : 'unknown',
    birthDate: String(row.DOB),
    address: [
      {
        line: [text('street'), text('street_line_2')].filter((line) => line !== undefined),
        city: text('city'),
        state: text('state'),
        postalCode: text('postal_code'),
        period: { start: '2025-01-01T00:00:00+00:00' },
      },
    ],
  };
}

function toPractitioner(row: Row): fhir.Practitioner {
  return {
    resourceType: 'Practitioner',
    id: String(row.uuid),
    meta: { versionId: '1', lastUpdated: '2026-01-01T00:00:00Z' },
    active: true,
    identifier: [{ system: 'http://hl7.org/fhir/sid/us-npi', value: String(row.npi) }],
    name: [{ use: 'official', family: String(row.lname), given: [String(row.fname)] }],
  };
}

function reference(patients: readonly Row[], pid: unknown): fhir.Reference {
  return { reference: `Patient/${patients.find((row) => row.pid === String(pid))?.uuid}` };
}

function toEncounter(row: Row, patients: readonly Row[]): fhir.Encounter {
  return {
    resourceType: 'Encounter',
    id: String(row.euuid),
    status: 'finished',
    class: { code: String(row.class_code) },
    subject: reference(patients, row.pid),
    reasonCode: [{ text: String(row.reason) }],
  };
}

/** Documents of patients that do not exist are in no chart. */
function toDocument(row: Row, patients: readonly Row[]): fhir.DocumentReference[] {
  if (!patients.some(({ pid }) => pid === row.pid)) return [];
  return [
    {
      resourceType: 'DocumentReference',
      id: String(row.uuid),
      meta: { versionId: '1', lastUpdated: String(row.date) },
      status: 'current',
      date: String(row.date),
      type: { coding: [{ system: 'http://terminology.hl7.org/CodeSystem/v3-NullFlavor', code: 'UNK' }] },
      ...(row.category !== null && { category: [{ text: String(row.category) }] }),
      subject: reference(patients, row.pid),
      content: [{ attachment: { contentType: String(row.mimetype), title: String(row.name) } }],
    },
  ];
}

function toMedication(row: Row, patients: readonly Row[]): fhir.MedicationRequest {
  return {
    resourceType: 'MedicationRequest',
    id: String(row.uuid),
    status: 'active',
    intent: 'order',
    medicationCodeableConcept: { text: String(row.drug) },
    subject: reference(patients, row.pid),
    authoredOn: String(row.date_added),
  };
}

/** A status that nobody has changed is `proposed`, and the end of what was booked by the API is before its start. */
function toAppointment(row: Row, patients: readonly Row[]): fhir.Appointment {
  const at = (clock: unknown) => `${row.pc_eventDate}T${clock}Z`;
  return {
    resourceType: 'Appointment',
    id: String(row.pc_uuid),
    status: row.pc_apptstatus === 'x' ? 'cancelled' : 'proposed',
    start: at(row.pc_startTime),
    end: at(row.pc_endTime),
    participant: [{ actor: reference(patients, row.pc_pid), status: 'accepted' }],
  };
}

function fhirJson(status: number, body: unknown): Reply {
  return { status, type: 'application/fhir+json', body: JSON.stringify(body) };
}
