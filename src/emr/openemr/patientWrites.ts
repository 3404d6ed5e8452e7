import { createHash } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import { ActivePatientChanges, PatientRequest } from '../../model/requests/patients.ts';
import { EmrFailure } from '../emrFailure.ts';
import {
  applySettings,
  changesWithoutBefore,
  describeChanges,
  type Field,
  type Setting,
  toSettings,
} from '../fhir/fields.ts';
import { readMrn } from '../fhir/patients/mrn.ts';
import { unreadable_response } from '../fhir/transport/call.ts';
import { searches } from '../fhir/transport/capabilities.ts';
import { rejectUnsupported } from '../fhir/writeSteps.ts';
import type { Operations } from '../operations/operations.ts';
import type { Demographics, NewPatient } from '../operations/patients.ts';
import { type OpenEmr, type OpenEmrOperation, readPatient, requireListed, scopes } from './operation.ts';
import { readData } from './rest.ts';
import { field, isRow, type Row } from './rows.ts';

/** OpenEMR's patient number in FHIR. */
export const mrn_rule = { type: 'PT' } as const;

/**
 * The patient's number is made from our marker, because OpenEMR has no other field that it stores as sent and can be
 * searched by. Without one, OpenEMR would use its next internal number.
 */
export function toPatientNumber(marker: string): string {
  return `CW-${createHash('sha256').update(marker).digest('hex').slice(0, 16).toUpperCase()}`;
}

function createPatient(emr: OpenEmr): Operations['createPatient'] {
  const { rest, fhir } = emr;
  const find = async (marker: string) => {
    const mrn = toPatientNumber(marker);
    const matches = await fhir.client.searchAll<fhir.Patient>('Patient', { identifier: mrn });
    const patient = matches.find((each) => readMrn(each, mrn_rule) === mrn);
    return patient?.id === undefined ? undefined : { ehr_id: patient.id, mrn };
  };
  return {
    send: async (input, marker) => {
      rejectUnsupportedFields(input);
      rejectUnsupported({
        insurance_name: input.coverages.length > 0,
        check_eligibility: input.check_eligibility,
        responsible_party: input.payer,
        pharmacy_id: input.pharmacy_ehr_id,
      });
      requireNames(input);
      const body = applySettings({}, await toPatientSettings(emr, input));
      const earlier = await find(marker);
      if (earlier) return earlier;
      const mrn = toPatientNumber(marker);
      const created = await rest.write({
        method: 'POST',
        path: ['patient'],
        scope: 'patient.write',
        body: { ...body, pubpid: mrn },
      });
      const data = readData(created);
      const ehr_id = isRow(data) ? field(data, 'uuid') : null;
      if (ehr_id === null) throw new EmrFailure('unknown_outcome', unreadable_response);
      return { ehr_id, mrn };
    },
    find,
  };
}

/** OpenEMR keeps no versions: the last change wins, as on its own screens. */
function updatePatient(emr: OpenEmr): Operations['updatePatient'] {
  const { rest } = emr;
  return {
    send: async (input) => {
      rejectUnsupportedFields(input);
      const { patient_ehr_id: ehr_id } = input;
      const before = await readPatient(emr, ehr_id);
      if (!before) throw new EmrFailure('not_found', 'OpenEMR has no such patient.', { code: 'patient_not_found' });
      const settings = await toPatientSettings(emr, input);
      const body = applySettings({}, settings);
      const saved = await rest.write({ method: 'PUT', path: ['patient', ehr_id], scope: 'patient.write', body });
      const data = readData(saved);
      const [after] = [data].flat();
      if (!isRow(after)) throw new EmrFailure('unknown_outcome', unreadable_response);
      return { ehr_id, changes: describeChanges(before, after, settings) };
    },
    compares: true,
    find: async (_marker, input) => {
      const { patient_ehr_id: ehr_id } = input;
      const now = await readPatient(emr, ehr_id);
      if (!now) return undefined;
      const settings = await toPatientSettings(emr, input);
      const stored = settings.every(({ field: { read }, value }) => read(now) === value);
      return stored ? { ehr_id, changes: changesWithoutBefore(now, settings) } : undefined;
    },
  };
}

/** OpenEMR refuses shorter names without saying why in words that people understand. */
function requireNames({ first_name, last_name }: Pick<NewPatient, 'first_name' | 'last_name'>): void {
  if ([first_name, last_name].every((name) => [...name.trim()].length >= 2)) return;
  const message = 'OpenEMR requires at least two letters in the first and the last name.';
  throw new EmrFailure('refused', message, { code: 'emr_validation' });
}

/** The API refuses `save_previous_address` itself; what is here is its default. OpenEMR keeps no earlier address. */
function rejectUnsupportedFields(input: Demographics): void {
  const { referring, pcp, emergency_contact: contact } = input;
  const named = (doctor: Demographics['pcp']) => doctor && !('ehr_id' in doctor);
  rejectUnsupported({
    no_email_reason: input.no_email_reason,
    language: input.language,
    race: input.race,
    ethnicity: input.ethnicity,
    referring_provider_id: referring && 'ehr_id' in referring,
    referring_provider_last_name: named(referring),
    pcp_id: pcp && 'ehr_id' in pcp,
    pcp_last_name: named(pcp),
    default_facility_id: input.default_facility_ehr_id,
    emergency_contact_first_name: contact?.first_name,
    emergency_contact_last_name: contact?.last_name,
    emergency_contact_relation: contact?.relation,
    emergency_contact_phone: contact?.phone,
  });
}

async function toPatientSettings({ people }: OpenEmr, input: Demographics): Promise<Setting<Row>[]> {
  const { rendering_provider_ehr_id: provider, sex } = input;
  const number = provider ? requireListed(await people.practitioners(), provider, 'provider').number : provider;
  return toSettings(patient_fields, { ...input, sex: sex && sexes[sex], referred_to_provider_id: number });
}

const sexes = { male: 'Male', female: 'Female', unknown: 'Unknown' } as const;

/** The demographics of the interface and their columns. A blank clears one. */
const patient_fields: readonly Field<Row>[] = (
  [
    ['first_name', 'First name', 'fname'],
    ['middle_name', 'Middle name', 'mname'],
    ['last_name', 'Last name', 'lname'],
    ['dob', 'Date of birth', 'DOB'],
    ['sex', 'Sex', 'sex'],
    ['phone', 'Home phone', 'phone_home'],
    ['cell_phone', 'Cell phone', 'phone_cell'],
    ['email', 'Email', 'email'],
    ['address_street', 'Street', 'street'],
    ['address_line2', 'Address line 2', 'street_line_2'],
    ['address_city', 'City', 'city'],
    ['address_state', 'State', 'state'],
    ['address_zip', 'ZIP code', 'postal_code'],
    ['referred_to_provider_id', 'Provider', 'providerID'],
  ] as const
).map(([property, label, column]) => ({
  property,
  label,
  read: (row) => field(row, column),
  write: (row, value) => {
    row[column] = value ?? '';
  },
}));

/** The fields of a request that OpenEMR has no column for. */
function listOthers<Name extends string>({ properties }: { properties: Record<Name, unknown> }): Name[] {
  const stored: readonly string[] = patient_fields.map(({ property }) => property);
  // Object.keys loses the type of the keys.
  return (Object.keys(properties) as Name[]).filter((name) => !stored.includes(name));
}

export const patient_write_operations: readonly OpenEmrOperation[] = [
  {
    operation: 'createPatient',
    // Searched for a patient whose response was lost.
    requires: [scopes('patient.read', 'patient.write', 'practitioner.read'), searches('Patient', 'identifier')],
    unsupported_fields: listOthers(PatientRequest),
    open: createPatient,
  },
  {
    operation: 'updatePatient',
    requires: [scopes('patient.read', 'patient.write', 'practitioner.read')],
    unsupported_fields: listOthers(ActivePatientChanges),
    open: updatePatient,
  },
];
