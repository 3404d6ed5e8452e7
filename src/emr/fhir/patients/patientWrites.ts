import type * as fhir from 'fhir/r4.js';
import { fold } from '../../../model/fold.ts';
import { todayIn } from '../../../platform/time/zones.ts';
import { EmrFailure } from '../../emrFailure.ts';
import type { Operations } from '../../operations/operations.ts';
import type { Demographics, NewPatient, PatientUpdate } from '../../operations/patients.ts';
import { resolveCoverage } from '../coverage/coverageWrites.ts';
import { createGuarantor, guarantor_fields, guarantor_requires, hasGuarantor } from '../coverage/guarantors.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  mergeSettings,
  type Setting,
  toSettings,
  updateFields,
} from '../fields.ts';
import { type FhirOperation, requireFor } from '../operation.ts';
import { droppedPharmacy, hasPharmacy, new_patient_pharmacy, pharmacy_field } from '../practice/pharmacies.ts';
import { named_doctor } from '../practice/providers.ts';
import { canSearch, type Emr } from '../references.ts';
import { can, meetsAll, type Requirement, searches, us_core_patient } from '../transport/capabilities.ts';
import type { FhirClient } from '../transport/client.ts';
import { unproven } from '../transport/creates.ts';
import { currentAddress, list, readName, toDay } from '../values.ts';
import {
  afterCreate,
  findLost,
  findOrCreate,
  forField,
  pickNew,
  rejectUnsupported,
  requireId,
  requireRecords,
} from '../writeSteps.ts';
import { checkCodes } from './demographicCodes.ts';
import {
  changed_referral,
  changeReferral,
  createReferral,
  findReferralWrite,
  linkDoctor,
  new_referral,
  referral_fields,
  referralSettings,
  requireDoctor,
  splitDoctors,
} from './doctors.ts';
import { isReplaced, readMrn } from './mrn.ts';
import { patient_fields, patientValues } from './patientFields.ts';
import { nameForms } from './patients.ts';

/**
 * Creates the chart, then its guarantor, insurances and referral. Each has its own marker, so that an interrupted attempt
 * can be continued.
 */
export function createPatient(emr: Emr): Operations['createPatient'] {
  const { client } = emr;
  /** Charts that `find` returned nothing for because parts of them are missing, by marker. They may not have the marker. */
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
      const earlier = incomplete.get(marker) ?? (await findEarlierPatient(emr, input, marker));
      const { resource: created, existed } = earlier
        ? { resource: earlier, existed: true }
        : await findOrCreate(client, applySettings(blank, settings), marker);
      const [id, mrn] = [requireId(created), readMrn(created, client.mrn_rule)];
      await afterCreate(`The patient was created with MRN '${mrn}', but not all of its data.`, async () => {
        // An earlier attempt may have used values that the client has corrected since.
        const stale = existed && describeChanges(created, created, settings).length > 0;
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
        if (input.payer && !(await hasGuarantor(emr, requireId(patient), marker))) return undefined;
        for (const n of input.coverages.keys()) {
          if (!(await client.findByMarker('Coverage', `${marker}-coverage-${n + 1}`))) return undefined;
        }
        if (hasReferral(referralSettings(input)) && !(await findReferralWrite(emr, marker))) return undefined;
        return { ehr_id: requireId(patient), mrn: readMrn(patient, client.mrn_rule) };
      },
    }),
  };
}

/** The referral is changed before the chart: the marker on the chart shows that everything was saved. */
export function updatePatient(emr: Emr): Operations['updatePatient'] {
  const { client, timezone } = emr;
  const toPatientSettings = (input: PatientUpdate) => toSettings(patient_fields, patientValues(input));
  return {
    send: async (input, marker) => {
      rejectUnsupportedFields(emr, input, changed_referral);
      const doctors = {
        pcp: await requireDoctor(emr, input.pcp),
        referring: await requireDoctor(emr, input.referring),
      };
      const resolved = { ...input, ...doctors };
      await requireReferences(emr, input.patient_ehr_id, resolved);
      const [settings, referral] = [toPatientSettings(resolved), referralSettings(resolved)];
      const referral_changes =
        referral.length > 0 ? await changeReferral(emr, input.patient_ehr_id, referral, marker) : undefined;
      const updateChart = () =>
        updateFields<fhir.Patient>(client, {
          type: 'Patient',
          id: input.patient_ehr_id,
          settings,
          marker,
          change: (current, first) => {
            const previous = input.save_previous_address ? previousAddress(current, settings, timezone) : undefined;
            const patient = mergeSettings(current, first, settings);
            return previous ? { ...patient, address: [...list(patient.address), previous] } : patient;
          },
        });
      const changes = await (referral_changes
        ? afterCreate('The referral was saved, but the patient was not changed.', updateChart)
        : updateChart());
      return {
        ehr_id: input.patient_ehr_id,
        changes: splitDoctors([...changes, ...(referral_changes ?? [])], doctors),
      };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, input) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        const referral = referralSettings(input);
        // Without the chart's change the referral may exist: a server that cannot search for it must not get it twice.
        const request = referral.length > 0 ? await findReferralWrite(emr, marker) : undefined;
        if (!patient) return undefined;
        const changes = [
          ...changesWithoutBefore(patient, toPatientSettings(input)),
          ...(request ? changesWithoutBefore(request, referral) : []),
        ];
        return { ehr_id: requireId(patient), changes: splitDoctors(changes, input) };
      },
    }),
  };
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

function hasReferral(settings: ReturnType<typeof referralSettings>): boolean {
  return settings.some(({ value }) => value !== null);
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

/** A copy of the present address, as one that ended today. Undefined if the settings do not change it. */
function previousAddress(
  patient: fhir.Patient,
  settings: readonly Setting<fhir.Patient>[],
  timezone: string,
): fhir.Address | undefined {
  const address_changed = settings.some(
    ({ field, value }) => field.property.startsWith('address_') && field.read(patient) !== value,
  );
  const present = currentAddress(patient.address);
  if (!address_changed || !present) return undefined;
  return structuredClone({ ...present, use: 'old', period: { ...present.period, end: todayIn(timezone) } });
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

function canFindLostPatient(client: FhirClient): boolean {
  return client.canFind('Patient') || canSearch(client, 'Patient', ['birthdate', 'family']);
}

/**
 * The chart that a lost create stored: by its marker, else the only new one with this name and birth date. Undefined if
 * there is none; throws `unknown_outcome` if it cannot be determined.
 */
async function findLostPatient(emr: Emr, input: NewPatient, marker: string): Promise<fhir.Patient | undefined> {
  const { client } = emr;
  const { record, proven } = await findLost<fhir.Patient>(client, 'Patient', marker);
  if (proven) return record;
  if (!canSearch(client, 'Patient', ['birthdate', 'family'])) throw unproven();
  const { first_name, last_name, dob } = input;
  const patients = await client.searchAll<fhir.Patient>('Patient', {
    birthdate: [`ge${dob}`, `le${dob}`],
    family: nameForms(last_name),
  });
  const alike = patients.filter((patient) => {
    const name = readName(patient.name);
    const same_name = fold(name.first ?? '') === fold(first_name) && fold(name.last ?? '') === fold(last_name);
    return same_name && toDay(patient.birthDate, emr.timezone) === dob && !isReplaced(patient);
  });
  return pickNew(alike, marker);
}

/**
 * The same before a create: what an earlier attempt stored on a server that cannot be searched by marker. If it cannot be
 * determined, this is the first attempt, because before a repeated one, `find` is called.
 */
async function findEarlierPatient(emr: Emr, input: NewPatient, marker: string): Promise<fhir.Patient | undefined> {
  if (emr.client.canFind('Patient') || !canFindLostPatient(emr.client)) return undefined;
  return findLostPatient(emr, input, marker).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return undefined;
    throw error;
  });
}

export const patient_write_operations: readonly FhirOperation[] = [
  {
    operation: 'createPatient',
    requires: [can('Patient', 'create')],
    // FHIR R4 has no place for them, or the interface restricts them to other EMRs.
    unsupported_fields: [
      'no_email_reason',
      'check_eligibility',
      'release_of_info',
      'rx_history_consent',
      'self_pay',
      'default_facility_id',
    ],
    field_requires: {
      ...requireFor(insurance_fields, [can('Coverage', 'create')]),
      insurance_provider_id: [can('Coverage', 'create'), searches('Coverage', 'payor')],
      // Servers may drop elements that they do not know. They keep those that they search by or name a profile for.
      language: [searches('Patient', 'language')],
      ...requireFor(['race', 'ethnicity'], [{ ...can('Patient', 'create'), profile: us_core_patient }]),
      pcp_id: [searches('Patient', 'general-practitioner')],
      ...requireFor(guarantor_fields, guarantor_requires),
      ...requireFor(referral_fields, new_referral),
      pharmacy_id: new_patient_pharmacy,
    },
    open: createPatient,
  },
  {
    operation: 'updatePatient',
    requires: [can('Patient', 'read', 'update')],
    unsupported_fields: ['save_previous_address'],
    field_requires: {
      pcp_id: [searches('Patient', 'general-practitioner')],
      ...requireFor(
        ['pcp_first_name', 'pcp_last_name'],
        [searches('Patient', 'general-practitioner'), ...named_doctor],
      ),
      ...requireFor(referral_fields, changed_referral),
    },
    open: updatePatient,
  },
];
