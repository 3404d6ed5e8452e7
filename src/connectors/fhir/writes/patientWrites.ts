import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../../time/zones.ts';
import type { Operations } from '../../connector.ts';
import { type Demographics, isSamePerson, type PatientUpdate } from '../../patientWrites.ts';
import { mrnOf } from '../mrn.ts';
import { canSearch, type Emr } from '../references.ts';
import { us_core_patient } from '../transport/capabilities.ts';
import { searchValue } from '../transport/client.ts';
import { currentAddress, list, nameOf } from '../values.ts';
import { checkCodes } from './demographicCodes.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  mergeSettings,
  type Setting,
  toSettings,
} from './fields.ts';
import { resolveCoverage } from './insuranceWrites.ts';
import { patient_fields, patientValues, splitPcp } from './patientFields.ts';
import { requireRecords } from './requireRecords.ts';
import { afterCreate, findOrCreate, idOf, rejectUnsupported } from './steps.ts';

/** Creates the chart, then its insurances. Each has its own marker, so that an interrupted attempt can be continued. */
export function createPatient(emr: Emr): Operations['createPatient'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      const { payer, pharmacy_ehr_id, check_eligibility } = input;
      rejectUnsupportedFields(emr, input, {
        responsible_party: payer,
        pharmacy_id: pharmacy_ehr_id,
        check_eligibility,
      });
      if (!client.capabilities.interactions('Coverage').has('create')) {
        rejectUnsupported({ [insurance_fields[0]]: input.coverages.length > 0 });
      }
      const pcp = await resolveDoctor(emr, input.pcp);
      await requireReferences(emr, null, pcp);
      const settings = toSettings(patient_fields, patientValues({ ...input, pcp }));
      // Resolved first: an insurance company that does not exist must not leave a patient without insurance.
      const coverages = await Promise.all(input.coverages.map((each) => resolveCoverage(emr, each)));
      const blank: fhir.Patient = { resourceType: 'Patient', active: true };
      const { resource: patient, found } = await findOrCreate(client, applySettings(blank, settings), marker);
      const id = idOf(patient);
      await afterCreate(
        `The patient was created with MRN '${mrnOf(patient, client.mrn_rule)}', but not all of its data.`,
        async () => {
          // An earlier attempt may have used values that the client has corrected since.
          const stale = found && describeChanges(patient, patient, settings).length > 0;
          if (stale) await client.update<fhir.Patient>('Patient', id, (now) => applySettings(now, settings), marker);
          for (const [n, toCoverage] of coverages.entries()) {
            await findOrCreate(client, toCoverage(id), `${marker}-coverage-${n + 1}`);
          }
        },
      );
      return { ehr_id: id, mrn: mrnOf(patient, client.mrn_rule) };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, input) => {
        const patient = await client.findCreated<fhir.Patient>('Patient', marker);
        if (!patient) return undefined;
        for (const n of input.coverages.keys()) {
          // Incomplete: `send` creates what is missing.
          if (!(await client.findByMarker('Coverage', `${marker}-coverage-${n + 1}`))) return undefined;
        }
        return { ehr_id: idOf(patient), mrn: mrnOf(patient, client.mrn_rule) };
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

export function updatePatient(emr: Emr): Operations['updatePatient'] {
  const { client, timezone } = emr;
  const settings = (input: PatientUpdate) => toSettings(patient_fields, patientValues(input));
  return {
    send: async (input, marker) => {
      rejectUnsupportedFields(emr, input);
      const pcp = await resolveDoctor(emr, input.pcp);
      await requireReferences(emr, input.patient_ehr_id, pcp);
      const settings_sent = settings({ ...input, pcp });
      const { before, after } = await client.update<fhir.Patient>(
        'Patient',
        input.patient_ehr_id,
        (current, first) => applyUpdate(current, first, settings_sent, input, timezone),
        marker,
      );
      const changes = splitPcp(describeChanges(before, after, settings_sent), pcp);
      return { ehr_id: input.patient_ehr_id, changes };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, input) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        const changes = patient && splitPcp(changesWithoutBefore(patient, settings(input)), input.pcp);
        return patient && { ehr_id: idOf(patient), changes: changes ?? [] };
      },
    }),
  };
}

function requireReferences({ client }: Emr, patient_ehr_id: string | null, pcp: Demographics['pcp']) {
  return requireRecords(client, patient_ehr_id, {
    'primary care provider': pcp && 'ehr_id' in pcp ? pcp.ehr_id : null,
  });
}

/** A doctor given by name is linked if exactly one active practitioner has that name. */
async function resolveDoctor({ client }: Emr, doctor: Demographics['pcp']): Promise<Demographics['pcp']> {
  if (!doctor || 'ehr_id' in doctor || !canSearch(client, 'Practitioner', ['family'])) return doctor;
  const found = await client.searchAll<fhir.Practitioner>('Practitioner', { family: searchValue(doctor.last_name) });
  const [match, ...others] = found.filter(({ active, name }) => {
    const { first: first_name, last: last_name } = nameOf(name);
    return active !== false && isSamePerson(doctor, { first_name, last_name });
  });
  return match && others.length === 0 ? { ehr_id: idOf(match) } : doctor;
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
 * Rejects fields that a FHIR Patient does not have. Consents and self-pay are ignored: the service fills them in for
 * EMRs that have them, clients of a FHIR server do not send them.
 */
function rejectUnsupportedFields({ client }: Emr, input: Demographics, more: Record<string, unknown> = {}): void {
  const us_core = client.capabilities.hasProfile('Patient', us_core_patient);
  rejectUnsupported({
    no_email_reason: input.no_email_reason,
    race: !us_core && input.race,
    ethnicity: !us_core && input.ethnicity,
    referring_provider_id: input.referring && 'ehr_id' in input.referring,
    referring_provider_last_name: input.referring && 'last_name' in input.referring,
    referred_to_provider_id: input.rendering_provider_ehr_id,
    default_facility_id: input.default_facility_ehr_id,
    ...more,
  });
  checkCodes(input);
}
