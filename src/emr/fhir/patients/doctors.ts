import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { SavedField } from '../../operations/operation.ts';
import type { Demographics, EmrDoctor } from '../../operations/patients.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  type Field,
  mergeSettings,
  type Setting,
  toSettings,
  updateFields,
} from '../fields.ts';
import { findPractitioners, named_doctor } from '../practice/providers.ts';
import { type Emr, findInChart, refId } from '../references.ts';
import { can, meetsAll, type Requirement, searches } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { readMarkers } from '../transport/creates.ts';
import { code_systems, hasCode, list, text } from '../values.ts';
import { findOrCreate, forField, requireId } from '../writeSteps.ts';

type SentDoctor = EmrDoctor | null | undefined;

/** For a new patient: a doctor named without an id is linked if exactly one active practitioner has that name. */
export async function linkDoctor({ client }: Emr, doctor: SentDoctor): Promise<SentDoctor> {
  if (!doctor || 'ehr_id' in doctor || !meetsAll(client.capabilities, named_doctor)) return doctor;
  const [match, ...others] = await findActiveDoctors(client, doctor);
  return match && others.length === 0 ? { ehr_id: requireId(match) } : doctor;
}

/** For a change: the only active practitioner with that name. The request is refused if there is none, or several. */
export async function requireDoctor({ client }: Emr, doctor: SentDoctor): Promise<SentDoctor> {
  if (!doctor || 'ehr_id' in doctor || !meetsAll(client.capabilities, named_doctor)) return doctor;
  const [match, ...others] = await findActiveDoctors(client, doctor);
  if (match && others.length === 0) return { ehr_id: requireId(match) };
  const name = nameText(doctor);
  throw match
    ? new EmrFailure('refused', `Several referring providers are called ${name}.`, { code: 'record_ambiguous' })
    : new EmrFailure('refused', `No referring provider is called ${name}.`, { code: 'record_not_found' });
}

async function findActiveDoctors(client: FhirClient, name: { first_name: string; last_name: string }) {
  return (await findPractitioners(client, name)).filter(({ active }) => active !== false);
}

/** `Practitioner/7`, or the name of a person who may not have a record. */
export function doctorText(doctor: EmrDoctor): string {
  return 'ehr_id' in doctor ? `Practitioner/${doctor.ehr_id}` : nameText(doctor);
}

function nameText({ first_name, last_name }: { first_name: string; last_name: string }): string {
  return `${first_name} ${last_name}`;
}

/** A reference to the doctor in this text (`doctorText`). */
export function doctorReference(value: string): { reference: string } | { display: string } {
  return value.startsWith('Practitioner/') ? { reference: value } : { display: value };
}

/** The roles of doctors on a chart: the property of their field, and the properties of the interface. */
const doctor_roles = [
  { property: 'pcp', prefix: 'pcp', label: 'Primary care provider' },
  { property: 'referring', prefix: 'referring_provider', label: 'Referring provider' },
] as const;

/**
 * FHIR has one place for a doctor, the interface has three fields. The text of a reference is split at its last blank,
 * unless it is the name that was sent.
 */
export function splitDoctors(
  changes: readonly SavedField[],
  sent: { pcp?: SentDoctor; referring?: SentDoctor },
): SavedField[] {
  return changes.flatMap((change) => {
    const role = doctor_roles.find(({ property }) => property === change.property);
    if (!role) return [change];
    const [before, after] = [change.before, change.after].map((value) => doctorParts(value, sent[role.property]));
    return (['id', 'first_name', 'last_name'] as const)
      .map((part) => ({
        ...change,
        property: `${role.prefix}_${part}`,
        field_label: part === 'id' ? role.label : `${role.label}, ${part.replace('_', ' ')}`,
        before: before?.[part] ?? null,
        after: after?.[part] ?? null,
      }))
      .filter((field) => field.before !== field.after);
  });
}

function doctorParts(value: string | null, sent: SentDoctor): { id?: string; first_name?: string; last_name?: string } {
  if (value === null) return {};
  const id = refId({ reference: value }, 'Practitioner');
  if (id !== null) return { id };
  if (sent && 'first_name' in sent && value === nameText(sent)) return sent;
  const [, first_name, last_name = value] = /^(.*) (\S+)$/.exec(value) ?? [];
  return { ...(first_name !== undefined && { first_name }), last_name };
}

/**
 * FHIR has no field for the referring doctor of a patient. A referral is a ServiceRequest: the referring provider is its
 * requester, the provider whom the patient was referred to its performer.
 */
export const new_referral: readonly Requirement[] = [can('ServiceRequest', 'create')];
/** A change needs the present referral, which is recognized by our marker. */
export const changed_referral: readonly Requirement[] = [
  { ...can('ServiceRequest', 'create', 'read', 'update'), marked: true },
  searches('ServiceRequest', 'patient|subject'),
];

export const referral_fields = [
  'referring_provider_id',
  'referring_provider_first_name',
  'referring_provider_last_name',
  'referred_to_provider_id',
] as const;

/** What a request says about the referral. Empty if it says nothing. */
export function referralSettings(input: Demographics): Setting<fhir.ServiceRequest>[] {
  return toSettings(service_request_fields, {
    referring: input.referring && doctorText(input.referring),
    referred_to_provider_id: input.rendering_provider_ehr_id,
  });
}

export async function createReferral(
  emr: Emr,
  patient_ehr_id: string,
  settings: readonly Setting<fhir.ServiceRequest>[],
  marker: string,
): Promise<fhir.ServiceRequest> {
  const referral = applySettings(emptyReferral(patient_ehr_id, emr.timezone), settings);
  const [first] = settings;
  const field = first?.field.property === 'referring' ? 'referring_provider_id' : 'referred_to_provider_id';
  const { resource } = await forField(field, () => findOrCreate(emr.client, referral, referralMarker(marker)));
  return resource;
}

/** Changes the present referral, or adds one. Returns undefined if there is nothing to change. */
export async function changeReferral(
  emr: Emr,
  patient_ehr_id: string,
  settings: readonly Setting<fhir.ServiceRequest>[],
  marker: string,
): Promise<SavedField[] | undefined> {
  const present = await findReferral(emr, patient_ehr_id);
  if (!present) {
    if (settings.every(({ value }) => value === null)) return undefined;
    return describeChanges(undefined, await createReferral(emr, patient_ehr_id, settings, marker), settings);
  }
  // An earlier attempt, whose response was lost.
  if (readMarkers(present).includes(referralMarker(marker))) return changesWithoutBefore(present, settings);
  if (describeChanges(present, present, settings).length === 0) return undefined;
  return updateFields<fhir.ServiceRequest>(emr.client, {
    type: 'ServiceRequest',
    id: requireId(present),
    settings,
    marker: referralMarker(marker),
    change: (current, first) => withStatus(mergeSettings(current, first, settings)),
  });
}

/** The referral that a write with this marker created or changed. */
export function findReferralWrite({ client }: Emr, marker: string): Promise<fhir.ServiceRequest | undefined> {
  return client.findByMarker<fhir.ServiceRequest>('ServiceRequest', referralMarker(marker));
}

function referralMarker(marker: string): string {
  return `${marker}-referral`;
}

const service_request_fields: readonly Field<fhir.ServiceRequest>[] = [
  {
    property: 'referring',
    label: 'Referring provider',
    read: ({ requester }) => text(requester?.reference) ?? text(requester?.display),
    write: (request, value) => {
      request.requester = value === null ? undefined : doctorReference(value);
    },
  },
  {
    property: 'referred_to_provider_id',
    label: 'Referred to provider',
    read: ({ performer }) => refId(list(performer)[0], 'Practitioner'),
    write: (request, value) => {
      request.performer = value === null ? undefined : [{ reference: `Practitioner/${value}` }];
    },
  },
];

function emptyReferral(patient_ehr_id: string, timezone: string): fhir.ServiceRequest {
  return {
    resourceType: 'ServiceRequest',
    status: 'active',
    intent: 'order',
    code: referral_code,
    subject: { reference: `Patient/${patient_ehr_id}` },
    authoredOn: todayIn(timezone),
  };
}

/** A referral without a requester and a performer is withdrawn. */
function withStatus(referral: fhir.ServiceRequest): fhir.ServiceRequest {
  return referral.requester || referral.performer ? referral : { ...referral, status: 'revoked' };
}

const referral_code: fhir.CodeableConcept = {
  coding: [{ system: code_systems.snomed, code: '3457005', display: 'Patient referral' }],
};

/**
 * Whether this is our record of who referred the patient, and to whom. Other referrals are orders of the practice, which
 * we never change.
 */
export function isOwnReferral(request: fhir.ServiceRequest): boolean {
  return hasCode(request.code, code_systems.snomed, ['3457005']) && readMarkers(request).length > 0;
}

/** Our record of the referral of a patient. */
async function findReferral({ client }: Emr, patient_ehr_id: string): Promise<fhir.ServiceRequest | undefined> {
  const type = 'ServiceRequest';
  const requests = await findInChart<fhir.ServiceRequest>(client, type, patient_ehr_id, ({ subject }) => [subject]);
  return requests.find((each) => each.status === 'active' && isOwnReferral(each));
}
