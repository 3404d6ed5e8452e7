import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../../platform/time/zones.ts';
import type { Demographics, SavedField } from '../../patientWrites.ts';
import { findReferral, referral_code } from '../charts/referrals.ts';
import { type Emr, refId } from '../references.ts';
import { can, type Requirement, search } from '../requirements.ts';
import { markersOf } from '../transport/markers.ts';
import { list, text } from '../values.ts';
import { doctorReference, doctorText } from './doctors.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  mergeSettings,
  type Setting,
  toSettings,
} from './fields.ts';
import { findOrCreate, forField, idOf } from './steps.ts';

/**
 * FHIR has no field for the referring doctor of a patient. A referral is a ServiceRequest: the referring provider is its
 * requester, the provider whom the patient was referred to its performer.
 */
export const new_referral: readonly Requirement[] = [can('ServiceRequest', 'create')];
/** A change needs the present referral, which is recognized by our marker. */
export const changed_referral: readonly Requirement[] = [
  { ...can('ServiceRequest', 'create', 'read', 'update'), marked: true },
  search('ServiceRequest', 'patient|subject'),
];

export const referral_fields = [
  'referring_provider_id',
  'referring_provider_first_name',
  'referring_provider_last_name',
  'referred_to_provider_id',
] as const;

/** What a request says about the referral. Empty if it says nothing. */
export function referralSettings(input: Demographics): Setting<fhir.ServiceRequest>[] {
  return toSettings(fields, {
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
  if (markersOf(present).includes(referralMarker(marker))) return changesWithoutBefore(present, settings);
  if (describeChanges(present, present, settings).length === 0) return undefined;
  const { before, after } = await emr.client.update<fhir.ServiceRequest>(
    'ServiceRequest',
    idOf(present),
    (now, first) => withStatus(mergeSettings(now, first, settings)),
    referralMarker(marker),
  );
  return describeChanges(before, after, settings);
}

/** The referral that a write with this marker created or changed. */
export function findReferralWrite({ client }: Emr, marker: string): Promise<fhir.ServiceRequest | undefined> {
  return client.findByMarker<fhir.ServiceRequest>('ServiceRequest', referralMarker(marker));
}

function referralMarker(marker: string): string {
  return `${marker}-referral`;
}

const fields: Parameters<typeof toSettings<fhir.ServiceRequest>>[0] = [
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

/** A referral by nobody to nobody is withdrawn. */
function withStatus(referral: fhir.ServiceRequest): fhir.ServiceRequest {
  return referral.requester || referral.performer ? referral : { ...referral, status: 'revoked' };
}
