import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../../platform/time/zones.ts';
import type { Operations } from '../../connector.ts';
import type { Demographics, PatientUpdate } from '../../patientWrites.ts';
import { mrnOf } from '../mrn.ts';
import type { Emr } from '../references.ts';
import { meetsAll, type Requirement } from '../requirements.ts';
import { us_core_patient } from '../transport/capabilities.ts';
import { currentAddress, list } from '../values.ts';
import { checkCodes } from './demographicCodes.ts';
import { linkDoctor, requireDoctor, splitDoctors } from './doctors.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  mergeSettings,
  type Setting,
  toSettings,
} from './fields.ts';
import { createGuarantor, guarantor_requires, hasGuarantor } from './guarantors.ts';
import { resolveCoverage } from './insuranceWrites.ts';
import { canFindLostPatient, findEarlierPatient, findLostPatient } from './lostCreates.ts';
import { patient_fields, patientValues } from './patientFields.ts';
import { droppedPharmacy, hasPharmacy, new_patient_pharmacy, pharmacy_field } from './pharmacyWrites.ts';
import {
  changed_referral,
  changeReferral,
  createReferral,
  findReferralWrite,
  new_referral,
  referralSettings,
} from './referrals.ts';
import { requireRecords } from './requireRecords.ts';
import { afterCreate, findOrCreate, forField, idOf, rejectUnsupported } from './steps.ts';

/**
 * Creates the chart, then its guarantor, insurances and referral. Each has its own marker, so that an interrupted attempt
 * can be continued.
 */
export function createPatient(emr: Emr): Operations['createPatient'] {
  const { client } = emr;
  /** By marker: charts that `find` found without all of their parts. They may not have the marker. */
  const incomplete = new Map<string, fhir.Patient>();
  return {
    send: async (input, marker) => {
      const { payer, pharmacy_ehr_id, check_eligibility } = input;
      rejectUnsupportedFields(emr, input, new_referral, {
        responsible_party: payer && !meetsAll(client.capabilities, guarantor_requires),
        pharmacy_id: pharmacy_ehr_id && !meetsAll(client.capabilities, new_patient_pharmacy),
        check_eligibility,
      });
      if (!client.capabilities.interactions('Coverage').has('create')) {
        rejectUnsupported({ [insurance_fields[0]]: input.coverages.length > 0 });
      }
      const doctors = { pcp: await linkDoctor(emr, input.pcp), referring: await linkDoctor(emr, input.referring) };
      await requireReferences(emr, null, { ...input, ...doctors }, pharmacy_ehr_id);
      const settings = toSettings([...patient_fields, pharmacy_field], {
        ...patientValues({ ...input, ...doctors }),
        pharmacy_id: pharmacy_ehr_id ?? undefined,
      });
      const referral = referralSettings({ ...input, ...doctors });
      // Resolved first: an insurance company that does not exist must not leave a patient without insurance.
      const coverages = await Promise.all(input.coverages.map((each) => resolveCoverage(emr, each)));
      const blank: fhir.Patient = { resourceType: 'Patient', active: true };
      const known = incomplete.get(marker) ?? (await findEarlierPatient(emr, input, marker));
      const { resource: created, found } = known
        ? { resource: known, found: true }
        : await findOrCreate(client, applySettings(blank, settings), marker);
      const [id, mrn] = [idOf(created), mrnOf(created, client.mrn_rule)];
      await afterCreate(`The patient was created with MRN '${mrn}', but not all of its data.`, async () => {
        // An earlier attempt may have used values that the client has corrected since.
        const stale = found && describeChanges(created, created, settings).length > 0;
        const change = (now: fhir.Patient) => applySettings(now, settings);
        const patient = stale ? (await client.update<fhir.Patient>('Patient', id, change, marker)).after : created;
        if (pharmacy_ehr_id !== null && !hasPharmacy(patient, pharmacy_ehr_id)) {
          await forField('pharmacy_id', async () => {
            throw await droppedPharmacy(client);
          });
        }
        const guarantor = payer && { payer, id: await createGuarantor(emr, id, payer, marker) };
        for (const [n, toCoverage] of coverages.entries()) {
          await findOrCreate(client, toCoverage(id, guarantor), `${marker}-coverage-${n + 1}`);
        }
        if (hasReferral(referral)) await createReferral(emr, id, referral, marker);
      });
      return { ehr_id: id, mrn };
    },
    ...(canFindLostPatient(client) && {
      find: async (marker, input) => {
        const patient = await findLostPatient(emr, input, marker);
        if (!patient) return undefined;
        incomplete.set(marker, patient);
        // Incomplete: `send` creates what is missing.
        if (input.payer && !(await hasGuarantor(emr, idOf(patient), marker))) return undefined;
        for (const n of input.coverages.keys()) {
          if (!(await client.findByMarker('Coverage', `${marker}-coverage-${n + 1}`))) return undefined;
        }
        if (hasReferral(referralSettings(input)) && !(await findReferralWrite(emr, marker))) return undefined;
        return { ehr_id: idOf(patient), mrn: mrnOf(patient, client.mrn_rule) };
      },
    }),
  };
}

function hasReferral(settings: ReturnType<typeof referralSettings>): boolean {
  return settings.some(({ value }) => value !== null);
}

/** The fields of a new patient that are stored in a Coverage. */
export const insurance_fields = [
  'insurance_name',
  'insurance_provider_id',
  'insurance_subscriber_number',
  'insurance_sequence',
  'secondary_insurance_name',
  'secondary_insurance_subscriber_number',
] as const;

/** The referral is changed before the chart: the marker on the chart shows that everything was saved. */
export function updatePatient(emr: Emr): Operations['updatePatient'] {
  const { client, timezone } = emr;
  const settings = (input: PatientUpdate) => toSettings(patient_fields, patientValues(input));
  return {
    send: async (input, marker) => {
      rejectUnsupportedFields(emr, input, changed_referral);
      const doctors = {
        pcp: await requireDoctor(emr, input.pcp),
        referring: await requireDoctor(emr, input.referring),
      };
      const resolved = { ...input, ...doctors };
      await requireReferences(emr, input.patient_ehr_id, resolved);
      const [settings_sent, referral] = [settings(resolved), referralSettings(resolved)];
      const referral_changes =
        referral.length > 0 ? await changeReferral(emr, input.patient_ehr_id, referral, marker) : undefined;
      const updateChart = () =>
        client.update<fhir.Patient>(
          'Patient',
          input.patient_ehr_id,
          (current, first) => applyUpdate(current, first, settings_sent, input, timezone),
          marker,
        );
      const { before, after } = await (referral_changes
        ? afterCreate('The referral was saved, but the patient was not changed.', updateChart)
        : updateChart());
      const changes = [...describeChanges(before, after, settings_sent), ...(referral_changes ?? [])];
      return { ehr_id: input.patient_ehr_id, changes: splitDoctors(changes, doctors) };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, input) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        const referral = referralSettings(input);
        // Without the chart's change the referral may exist: a server that cannot search for it must not get it twice.
        const request = referral.length > 0 ? await findReferralWrite(emr, marker) : undefined;
        if (!patient) return undefined;
        const changes = [
          ...changesWithoutBefore(patient, settings(input)),
          ...(request ? changesWithoutBefore(request, referral) : []),
        ];
        return { ehr_id: idOf(patient), changes: splitDoctors(changes, input) };
      },
    }),
  };
}

function requireReferences(
  { client }: Emr,
  patient_ehr_id: string | null,
  { pcp, referring, rendering_provider_ehr_id }: Demographics,
  pharmacy_ehr_id: string | null = null,
) {
  return requireRecords(client, patient_ehr_id, {
    'primary care provider': pcp && 'ehr_id' in pcp ? pcp.ehr_id : null,
    'referring provider': referring && 'ehr_id' in referring ? referring.ehr_id : null,
    provider: rendering_provider_ehr_id,
    pharmacy: pharmacy_ehr_id,
  });
}

/** Keeps the previous address as an old one, unless the request says otherwise. */
function applyUpdate(
  current: fhir.Patient,
  first: fhir.Patient,
  settings_sent: readonly Setting<fhir.Patient>[],
  { save_previous_address }: PatientUpdate,
  timezone: string,
): fhir.Patient {
  const address_changed = settings_sent.some(
    ({ field, value }) => field.property.startsWith('address_') && field.read(current) !== value,
  );
  const present = currentAddress(current.address);
  const previous =
    address_changed && save_previous_address && present && structuredClone({ ...present, use: 'old' as const });
  const patient = mergeSettings(current, first, settings_sent);
  if (!previous) return patient;
  previous.period = { ...previous.period, end: todayIn(timezone) };
  return { ...patient, address: [...list(patient.address), previous] };
}

/**
 * Rejects fields that the server has no place for. Consents and self-pay are ignored: the service fills them in for EMRs
 * that have them, clients of a FHIR server do not send them.
 */
function rejectUnsupportedFields(
  { client: { capabilities } }: Emr,
  input: Demographics,
  referral_requires: readonly Requirement[],
  more: Record<string, unknown> = {},
): void {
  const us_core = capabilities.hasProfile('Patient', us_core_patient);
  const { referring } = input;
  const no_referrals = !meetsAll(capabilities, referral_requires);
  rejectUnsupported({
    no_email_reason: input.no_email_reason,
    race: !us_core && input.race,
    ethnicity: !us_core && input.ethnicity,
    referring_provider_id: no_referrals && referring && 'ehr_id' in referring,
    referring_provider_last_name: no_referrals && referring && 'last_name' in referring,
    referred_to_provider_id: no_referrals && input.rendering_provider_ehr_id,
    default_facility_id: input.default_facility_ehr_id,
    ...more,
  });
  checkCodes(input);
}
