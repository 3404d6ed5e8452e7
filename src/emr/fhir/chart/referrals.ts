import type * as fhir from 'fhir/r4.js';
import type { ReferralSource } from '../../../model/records/referrals.ts';
import { formatInstant } from '../../../platform/time/days.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Operations } from '../../operations/operations.ts';
import type { NewReferral } from '../../operations/referrals.ts';
import { dependent, incrementalList, type List } from '../lists.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { isOwnReferral } from '../patients/doctors.ts';
import { isReplaced, readMrn } from '../patients/mrn.ts';
import {
  createResolver,
  type Emr,
  findReferencing,
  loadPractitioners,
  type Practitioners,
  practitionerId,
  type Resolver,
  refId,
  refIds,
} from '../references.ts';
import { can, lists, listsOrExports, reads, stores } from '../transport/capabilities.ts';
import { readMarkers } from '../transport/creates.ts';
import {
  code_systems,
  first,
  groupBy,
  hasCode,
  list,
  readIcdCode,
  readLabel,
  readName,
  text,
  toDay,
} from '../values.ts';
import { findOrCreate, requireId, requireRecords } from '../writeSteps.ts';
import { storeDocument } from './documents.ts';

const patient_referral = { system: code_systems.snomed, code: '3457005', display: 'Patient referral' };

/** A referral that we created. It has another code than our record of who referred a patient (patients/doctors.ts). */
export function isSentReferral(request: fhir.ServiceRequest): boolean {
  return hasReferralCategory(request) && readMarkers(request).length > 0;
}

function hasReferralCategory({ category }: fhir.ServiceRequest): boolean {
  return list(category).some((each) => hasCode(each, patient_referral.system, [patient_referral.code]));
}

function isReferral(request: fhir.ServiceRequest): boolean {
  const is_coded =
    hasReferralCategory(request) || hasCode(request.code, patient_referral.system, [patient_referral.code]);
  return is_coded && request.status !== 'entered-in-error' && request.doNotPerform !== true && !isOwnReferral(request);
}

const referrals: List<fhir.ServiceRequest, ReferralSource> = {
  type: 'ServiceRequest',
  toSources,
  dependents: [
    dependent(
      'DocumentReference',
      ({ context }: fhir.DocumentReference) => refIds(list(context?.related), 'ServiceRequest')[0] ?? null,
    ),
  ],
};

type Related = Practitioners & {
  patients: ReadonlyMap<string, fhir.Patient>;
  documents: ReadonlyMap<string, fhir.DocumentReference[]>;
};

async function toSources(page: fhir.ServiceRequest[], emr: Emr, resolver: Resolver): Promise<ReferralSource[]> {
  const relevant = page.filter(isReferral);
  if (relevant.length === 0) return [];
  const people = relevant.flatMap(({ requester, performer }) => [requester, ...list(performer)]);
  const subjects = relevant.map(({ subject }) => subject);
  const refs = relevant.map(({ id }) => `ServiceRequest/${id}`);
  const documents = await findReferencing<fhir.DocumentReference>(emr.client, 'DocumentReference', ['related'], refs);
  const related: Related = {
    ...(await loadPractitioners(resolver, people)),
    patients: await resolver.load<fhir.Patient>('Patient', refIds(subjects, 'Patient')),
    documents: groupBy(
      documents.filter(({ status }) => status !== 'entered-in-error'),
      ({ context }) => refIds(list(context?.related), 'ServiceRequest')[0] ?? '',
    ),
  };
  return relevant.map((each) => toReferral(each, related, emr)).filter((each) => each !== undefined);
}

/** Undefined for one without a patient or a date, because referrals are listed by both. */
function toReferral(request: fhir.ServiceRequest, related: Related, emr: Emr): ReferralSource | undefined {
  const { client, timezone } = emr;
  const patient_ehr_id = refId(request.subject, 'Patient') ?? '';
  const patient = related.patients.get(patient_ehr_id);
  const { authoredOn, occurrenceDateTime, occurrencePeriod, meta } = request;
  const referral_date = first([authoredOn, occurrenceDateTime, occurrencePeriod?.start, meta?.lastUpdated], (at) =>
    toDay(at, timezone),
  );
  if (!patient || isReplaced(patient) || referral_date === null) return undefined;
  const name = readName(patient.name);
  const from = toProvider(request.requester, related);
  const to = toProvider(list(request.performer)[0], related);
  const attached = refIds(list(request.supportingInfo), 'DocumentReference');
  const documents = related.documents.get(request.id ?? '') ?? [];
  return {
    ehr_id: request.id ?? '',
    patient_ehr_id,
    patient_mrn: readMrn(patient, client.mrn_rule),
    patient_first_name: name.first,
    patient_last_name: name.last,
    patient_dob: toDay(patient.birthDate, timezone),
    from_provider_ehr_id: from.id,
    from_provider_name: from.name,
    to_provider_ehr_id: to.id,
    to_provider_name: to.name,
    priority: readPriority(request.priority),
    urgency: text(request.priority),
    reason: readReason(request),
    diagnosis_codes: list(request.reasonCode).flatMap((each) => readIcdCode(each) ?? []),
    document_ids: [...new Set([...attached, ...documents.map(({ id }) => id ?? '')])],
    status: text(request.status),
    referral_date,
    last_activity_at: toIsoInstant(meta?.lastUpdated),
    direction: readDirection(request),
  };
}

function toProvider(reference: fhir.Reference | undefined, { roles, practitioners }: Practitioners) {
  const id = practitionerId(reference, roles);
  return { id, name: readName(practitioners.get(id ?? '')?.name).full ?? text(reference?.display) };
}

/** FHIR has one level between routine and stat more. */
function readPriority(priority: unknown): ReferralSource['priority'] {
  if (priority === 'asap') return 'urgent';
  return priority === 'routine' || priority === 'urgent' || priority === 'stat' ? priority : null;
}

/** The first reason that is no diagnosis, else what the request is called. */
function readReason({ reasonCode, code }: fhir.ServiceRequest): string | null {
  return first(list(reasonCode), (each) => (readIcdCode(each) === null ? readLabel(each) : null)) ?? readLabel(code);
}

function toIsoInstant(moment: unknown): string | null {
  return formatInstant(Date.parse(text(moment) ?? ''));
}

/** FHIR does not tell providers of the practice from others, so the direction is a text of the category. */
const direction_texts = { incoming: 'Incoming referral', outgoing: 'Outgoing referral' } as const;

function readDirection({ category }: fhir.ServiceRequest): ReferralSource['direction'] {
  const texts = list(category).map((each) => text(each.text));
  if (texts.includes(direction_texts.incoming)) return 'incoming';
  return texts.includes(direction_texts.outgoing) ? 'outgoing' : null;
}

async function getReferral(emr: Emr, ehr_id: string): Promise<ReferralSource | undefined> {
  const request = await emr.client.read<fhir.ServiceRequest>('ServiceRequest', ehr_id);
  if (!request) return undefined;
  const [referral] = await toSources([request], emr, createResolver(emr.client));
  return referral;
}

function createReferral({ client }: Emr): Operations['createReferral'] {
  return {
    send: async (input, marker) => {
      const providers = [input.from_provider_ehr_id, input.to_provider_ehr_id];
      await requireRecords(client, input.patient_ehr_id, { provider: providers });
      const { resource } = await findOrCreate(client, toServiceRequest(input), marker);
      return { ehr_id: requireId(resource) };
    },
    ...(client.canFind('ServiceRequest') && {
      find: async (marker) => {
        const created = await client.findCreated<fhir.ServiceRequest>('ServiceRequest', marker);
        return created && { ehr_id: requireId(created) };
      },
    }),
  };
}

function toServiceRequest(input: NewReferral): fhir.ServiceRequest {
  const practitioner = (id: string) => ({ reference: `Practitioner/${id}` });
  const diagnoses = input.diagnosis_codes.map((code) => ({ coding: [{ system: code_systems.icd_10_cm, code }] }));
  return {
    resourceType: 'ServiceRequest',
    status: 'active',
    intent: 'order',
    category: [{ coding: [patient_referral], text: direction_texts[input.direction] }],
    code: { coding: [{ system: code_systems.snomed, code: '306206005', display: 'Referral to service' }] },
    priority: input.priority,
    subject: { reference: `Patient/${input.patient_ehr_id}` },
    authoredOn: new Date().toISOString(),
    ...(input.from_provider_ehr_id !== null && { requester: practitioner(input.from_provider_ehr_id) }),
    ...(input.to_provider_ehr_id !== null && { performer: [practitioner(input.to_provider_ehr_id)] }),
    reasonCode: [{ text: input.reason }, ...diagnoses],
  };
}

function addReferralDocument({ client }: Emr): Operations['addReferralDocument'] {
  return {
    send: async ({ referral_ehr_id, file_name, type, content }, marker) => {
      const request = await client.read<fhir.ServiceRequest>('ServiceRequest', referral_ehr_id);
      const patient_ehr_id = refId(request?.subject, 'Patient');
      if (!request || patient_ehr_id === null) {
        throw new EmrFailure('not_found', `The EMR has no referral with ID '${referral_ehr_id}'.`);
      }
      const file = { type, content, file_name, patient_ehr_id, folder: 'Referrals', reviewed: false, notes: null };
      const document = await storeDocument(client, { ...file, related: `ServiceRequest/${referral_ehr_id}` }, marker);
      return { ehr_id: requireId(document) };
    },
    ...(client.canFind('DocumentReference') && {
      find: async (marker) => {
        const created = await client.findCreated<fhir.DocumentReference>('DocumentReference', marker);
        return created && { ehr_id: requireId(created) };
      },
    }),
  };
}

export const referral_operations: readonly FhirOperation[] = [
  {
    operation: 'listReferrals',
    requires: [listsOrExports('ServiceRequest'), reads('Patient')],
    open: (emr) => incrementalList(emr, referrals),
  },
  { operation: 'getReferral', requires: [reads('ServiceRequest'), reads('Patient')], open: reading(getReferral) },
  {
    operation: 'createReferral',
    requires: [stores('ServiceRequest'), lists('ServiceRequest'), reads('ServiceRequest')],
    open: createReferral,
  },
  {
    operation: 'addReferralDocument',
    requires: [can('DocumentReference', 'create'), reads('ServiceRequest')],
    open: addReferralDocument,
  },
];
