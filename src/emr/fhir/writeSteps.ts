import type * as fhir from 'fhir/r4.js';
import { EmrFailure, unsupportedField } from '../emrFailure.ts';
import type { EmrWrite, Written } from '../operations/operation.ts';
import { readMrn } from './patients/mrn.ts';
import { canSearch, refId } from './references.ts';
import { noSuchRecord } from './transport/call.ts';
import type { FhirClient } from './transport/client.ts';
import { clock_tolerance_ms, isOlderThan, readMarkers, unproven } from './transport/creates.ts';
import { list, readDeceased } from './values.ts';

/**
 * A write of several records must be able to continue after an interruption. Each record has its own marker and is
 * searched before it is created. `existed`: an earlier attempt created it.
 */
export async function findOrCreate<T extends fhir.FhirResource>(
  client: FhirClient,
  resource: T,
  marker: string,
): Promise<{ resource: T; existed: boolean }> {
  const present = await findMarked<T>(client, resource.resourceType, marker);
  if (present) return { resource: present, existed: true };
  return { resource: await client.create<T>(resource, marker), existed: false };
}

/** The record that an earlier attempt stored. Undefined also if the server cannot be searched for it. */
export async function findMarked<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  marker: string,
): Promise<T | undefined> {
  return client.canFind(type) ? client.findByMarker<T>(type, marker) : undefined;
}

/**
 * Runs work that follows a create. The record exists even if the work fails: the message of a rejection says so
 * (`message`), and any other failure leaves the outcome unknown until the record is looked up. `required`: a server that
 * refuses this work as a whole does not offer the write.
 */
export async function afterCreate<T>(
  message: string,
  work: () => Promise<T>,
  { required = false }: { required?: boolean } = {},
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmrFailure)) throw error;
    const final = error.kind === 'refused' || error.kind === 'not_found';
    if (final)
      throw new EmrFailure('refused', `${message} ${error.message}`, {
        code: error.code,
        details: error.details ?? {},
        not_offered: required && error.not_offered,
        cause: error,
      });
    throw new EmrFailure('unknown_outcome', error.message, { accepted: error.accepted, cause: error });
  }
}

/**
 * Runs a write of a record that only a field of the request needs. A server that refuses such records as a whole still
 * offers the operation; the client remembers the refusal, so that the field is no longer offered.
 */
export async function forField<T>(field: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmrFailure && error.not_offered)) throw error;
    const message = `Field '${field}' is not supported by this EMR. ${error.message}`;
    throw new EmrFailure('refused', message, { code: error.code, cause: error });
  }
}

/** Fields that FHIR R4 does not have are rejected by their interface name instead of being dropped. */
export function rejectUnsupported(fields: Record<string, unknown>): void {
  const field = Object.keys(fields).find((name) => {
    const value = fields[name];
    return value !== undefined && value !== null && value !== false && value !== '';
  });
  if (field !== undefined) throw unsupportedField(field);
}

export function requireId(resource: fhir.FhirResource): string {
  const { id } = resource;
  if (id === undefined || id === '') throw new EmrFailure('unknown_outcome', 'The EMR did not confirm what it stored.');
  return id;
}

type ResourceType = fhir.FhirResource['resourceType'];

/** Throws if the server accepts none of the types, or no longer does. See `storeInForm`. */
export function requireForm(client: FhirClient, types: readonly ResourceType[]): void {
  if (usableForms(client, types).length > 0) return;
  const message = `The server does not accept new ${types.join(' or ')} records.`;
  throw new EmrFailure('refused', message, { code: 'not_supported', not_offered: true });
}

/**
 * Some records can be stored as one of several types, depending on the server. Stores the first one that the server lets
 * us create and search by our marker, unless an earlier attempt has stored one. Returns its id.
 */
export async function storeInForm(
  client: FhirClient,
  types: readonly ResourceType[],
  marker: string,
  toForms: () => Promise<readonly fhir.FhirResource[]>,
): Promise<string> {
  const present = await findInForm(client, types, marker);
  return requireId(present ?? (await createInForm(client, await toForms(), marker)));
}

/** The record that an earlier attempt stored, in whichever form. */
export async function findInForm(
  client: FhirClient,
  types: readonly ResourceType[],
  marker: string,
): Promise<fhir.FhirResource | undefined> {
  for (const type of types) {
    const present = await findMarked(client, type, marker);
    if (present) return present;
  }
  return undefined;
}

/** The `find` of a write that uses `storeInForm`. Absent if none of the types can be found. */
export function formLookup(
  client: FhirClient,
  types: readonly ResourceType[],
): Pick<EmrWrite<unknown, Written>, 'find'> {
  if (!types.some((type) => client.canFind(type))) return {};
  return {
    find: async (marker) => {
      const present = await findInForm(client, types, marker);
      const [sent] = usableForms(client, types);
      const record = present ?? (sent && (await client.findCreated(sent, marker)));
      return record && { ehr_id: requireId(record) };
    },
  };
}

/** Uses the first form that the server accepts. A type that it refuses as a whole is remembered. */
async function createInForm(
  client: FhirClient,
  forms: readonly fhir.FhirResource[],
  marker: string,
): Promise<fhir.FhirResource> {
  const types = forms.map(({ resourceType }) => resourceType);
  requireForm(client, types);
  const [type, ...others] = usableForms(client, types);
  const form = forms.find(({ resourceType }) => resourceType === type);
  if (!form) throw new Error('a usable form without a resource');
  try {
    return await client.create(form, marker);
  } catch (error) {
    const refused = error instanceof EmrFailure && error.not_offered;
    if (!refused || others.length === 0) throw error;
    return createInForm(client, forms, marker);
  }
}

function usableForms<Type extends ResourceType>(client: FhirClient, types: readonly Type[]): Type[] {
  return types.filter(
    (type) => client.capabilities.interactions(type).has('create') && canSearch(client, type, ['identifier']),
  );
}

/** Records that a write refers to, by the name of their kind. null and undefined are not referred to. */
type RequiredRecords = Partial<
  Record<keyof typeof record_types, string | readonly (string | null)[] | null | undefined>
>;

const record_types = {
  provider: 'Practitioner',
  'staff member': 'Practitioner',
  'primary care provider': 'Practitioner',
  'referring provider': 'Practitioner',
  location: 'Location',
  pharmacy: 'Organization',
  guarantor: 'RelatedPerson',
} as const satisfies Record<string, fhir.FhirResource['resourceType']>;

/**
 * Throws unless all of these records exist. Many servers store references to records that do not exist, so everything
 * that a write refers to is read before anything is written. A type that the server does not let us read is not checked.
 */
export async function requireRecords(
  client: FhirClient,
  patient_ehr_id: string | null,
  records: RequiredRecords = {},
): Promise<void> {
  const referred = Object.entries(records).flatMap(([name, ids]) =>
    [ids ?? []].flat().flatMap((id) => (id === null ? [] : [{ name: name as keyof typeof record_types, id }])),
  );
  if (patient_ehr_id !== null) await requirePatient(client, patient_ehr_id);
  for (const { name, id } of referred) {
    // The id of a pharmacy that is a Location contains its type.
    const place = refId({ reference: id }, 'Location');
    if (await isMissing(client, place === null ? record_types[name] : 'Location', place ?? id)) {
      throw new EmrFailure('not_found', `The EMR has no ${name} with ID '${id}'.`);
    }
  }
}

/** Throws unless the chart can be written to: it exists, was not merged into another one, and the patient is alive. */
async function requirePatient(client: FhirClient, id: string): Promise<void> {
  const patient = await requireChart(client, id);
  if (patient && readDeceased(patient)) {
    throw new EmrFailure('refused', 'According to the EMR, the patient is deceased.', { code: 'record_inactive' });
  }
}

/**
 * Throws unless the chart exists and was not merged into another one. Undefined if the server does not let us read
 * patients.
 */
export async function requireChart(client: FhirClient, id: string): Promise<fhir.Patient | undefined> {
  if (!canRead(client, 'Patient')) return undefined;
  const patient = await readRecord<fhir.Patient>(client, 'Patient', id);
  if (!patient) throw noSuchRecord('Patient');
  const replaced = list(patient.link).find(({ type }) => type === 'replaced-by');
  if (replaced) {
    const into = refId(replaced.other, 'Patient');
    const current = into === null ? undefined : await readRecord<fhir.Patient>(client, 'Patient', into);
    const where = current ? `the chart with MRN '${readMrn(current, client.mrn_rule)}'` : 'another one';
    throw new EmrFailure('refused', `This chart was merged into ${where}.`, { code: 'patient_not_found' });
  }
  return patient;
}

async function isMissing(client: FhirClient, type: fhir.FhirResource['resourceType'], id: string): Promise<boolean> {
  return canRead(client, type) && (await readRecord(client, type, id)) === undefined;
}

function canRead(client: FhirClient, type: string): boolean {
  return client.capabilities.interactions(type).has('read') || canSearch(client, type, ['_id']);
}

async function readRecord<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  id: string,
): Promise<T | undefined> {
  if (client.capabilities.interactions(type).has('read')) return client.read<T>(type, id);
  return (await client.searchAll<T>(type, { _id: id })).find((each) => each.id === id);
}

/**
 * Looks for what a lost create stored, by its marker. Without `proven`, that there is none says nothing: the server has
 * not shown that it keeps our markers, and the record is looked for by its content (`pickNew`).
 */
export async function findLost<T extends fhir.FhirResource>(
  client: FhirClient,
  type: T['resourceType'],
  marker: string,
): Promise<{ record?: T; proven: boolean }> {
  const record = await findMarked<T>(client, type, marker);
  if (record) return { record, proven: true };
  const proven = await client.provesMarkers(type).catch((error: unknown) => {
    if (error instanceof EmrFailure && error.kind === 'unknown_outcome') return false;
    throw error;
  });
  return { proven };
}

/**
 * Of records like the one that was sent: that with our marker, which a server may keep without searching by it, else the
 * only one without any marker that may have been stored since the write was requested. Throws `unknown_outcome` if there
 * are several.
 */
export function pickNew<T extends fhir.FhirResource>(records: readonly T[], marker: string): T | undefined {
  const ours = records.find((record) => readMarkers(record).includes(marker));
  if (ours) return ours;
  const since_ms = requestedAt(marker) - clock_tolerance_ms;
  const recent = records.filter((record) => !isOlderThan(record, since_ms) && readMarkers(record).length === 0);
  const [only, ...more] = recent;
  // Without a time, or after a change, a record may be much older than it seems.
  const certain = recent.every(
    ({ meta }) => meta?.lastUpdated !== undefined && !/^([2-9]|\d{2,})$/.test(meta.versionId ?? ''),
  );
  if (more.length > 0 || !certain) throw unproven();
  return only;
}

/** When the operation was accepted. A marker starts with its id, which starts with the time (UUID v7). */
function requestedAt(marker: string): number {
  const at_ms = Number.parseInt(marker.slice(0, 12), 16);
  const is_dated = /^[0-9a-f]{12}7/.test(marker) && at_ms <= Date.now() && at_ms > Date.now() - operation_age_max_ms;
  return is_dated ? at_ms : Date.now() - retry_time_max_ms;
}

const operation_age_max_ms = 366 * 24 * 60 * 60_000;
/** A lost write is retried for an hour. */
const retry_time_max_ms = 60 * 60_000;
