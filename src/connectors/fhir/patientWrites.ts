import type * as fhir from 'fhir/r4.js';
import { todayIn } from '../../time/zones.ts';
import type { Operations } from '../connector.ts';
import type { Demographics, PatientUpdate } from '../patientWrites.ts';
import { changesOf, foundChanges, merge, put, type Setting, settingsOf } from './fields.ts';
import { firstCoverage } from './insuranceWrites.ts';
import { afterwards, ensure, idOf, refuseUnplaced } from './parts.ts';
import { patient_fields, patientValues } from './patientFields.ts';
import { mrnOf } from './patients.ts';
import type { Emr } from './references.ts';
import { addressOf, list } from './values.ts';

/** The chart, then its insurances: each bears a marker of its own, so that a try that broke off is gone on with. */
export function createPatient(emr: Emr): Operations['createPatient'] {
  const { client } = emr;
  return {
    send: async (input, marker) => {
      const { payer, pharmacy_ehr_id, check_eligibility } = input;
      refuseUnknown(input, { responsible_party: payer, pharmacy_id: pharmacy_ehr_id, check_eligibility });
      const settings = settingsOf(patient_fields, patientValues(input));
      const blank: fhir.Patient = { resourceType: 'Patient', active: true };
      const { resource: patient, found } = await ensure(client, put(blank, settings), marker);
      const id = idOf(patient);
      await afterwards(
        `The patient was created with the MRN '${mrnOf(patient)}', but not all that belongs to it.`,
        async () => {
          // An earlier try may have made it of other values, which its client has put right since.
          const stale = found && changesOf(patient, patient, settings).length > 0;
          if (stale) await client.update<fhir.Patient>('Patient', id, (now) => put(now, settings), marker);
          for (const [n, coverage] of input.coverages.entries()) {
            await ensure(client, await firstCoverage(emr, id, coverage), `${marker}-coverage-${n + 1}`);
          }
        },
      );
      return { ehr_id: id, mrn: mrnOf(patient) };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, input) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        if (!patient) return undefined;
        for (const n of input.coverages.keys()) {
          // Not whole yet: `send` goes on with what is missing.
          if (!(await client.findByMarker('Coverage', `${marker}-coverage-${n + 1}`))) return undefined;
        }
        return { ehr_id: idOf(patient), mrn: mrnOf(patient) };
      },
    }),
  };
}

export function updatePatient(emr: Emr): Operations['updatePatient'] {
  const { client, timezone } = emr;
  const settings = (input: PatientUpdate) => settingsOf(patient_fields, patientValues(input));
  return {
    send: async (input, marker) => {
      refuseUnknown(input);
      const wanted = settings(input);
      const { before, after } = await client.update<fhir.Patient>(
        'Patient',
        input.patient_ehr_id,
        (current, first) => changed(current, first, wanted, input, timezone),
        marker,
      );
      return { ehr_id: input.patient_ehr_id, changes: changesOf(before, after, wanted) };
    },
    ...(client.canFind('Patient') && {
      find: async (marker, input) => {
        const patient = await client.findByMarker<fhir.Patient>('Patient', marker);
        return patient && { ehr_id: idOf(patient), changes: foundChanges(patient, settings(input)) };
      },
    }),
  };
}

/** The address there was is kept as a former one, as the interface has it unless told otherwise. */
function changed(
  current: fhir.Patient,
  first: fhir.Patient,
  wanted: readonly Setting<fhir.Patient>[],
  { save_previous_address }: PatientUpdate,
  timezone: string,
): fhir.Patient {
  const moves = wanted.some(
    ({ field, value }) => field.property.startsWith('address_') && field.read(current) !== value,
  );
  const present = addressOf(current.address);
  const former = moves && save_previous_address && present && structuredClone({ ...present, use: 'old' as const });
  const patient = merge(current, first, wanted);
  if (!former) return patient;
  former.period = { ...former.period, end: todayIn(timezone) };
  return { ...patient, address: [...list(patient.address), former] };
}

/**
 * Refuses what a FHIR patient has no place for. Consents and who pays are not said by a client of such an EMR: the
 * service fills them in for those that have them, and here they are passed over.
 */
function refuseUnknown(input: Demographics, more: Record<string, unknown> = {}): void {
  refuseUnplaced({
    no_email_reason: input.no_email_reason,
    language: input.language,
    race: input.race,
    ethnicity: input.ethnicity,
    referring_provider_last_name: input.referring,
    referred_to_provider_id: input.rendering_provider_ehr_id,
    default_facility_id: input.default_facility_ehr_id,
    ...more,
  });
}
