import { EmrFailure } from '../../connector.ts';
import type { EmrDoctor, SavedField } from '../../patientWrites.ts';
import { practitionersNamed } from '../lists/providers.ts';
import { type Emr, refId } from '../references.ts';
import { meetsAll, type Requirement, search } from '../requirements.ts';
import type { FhirClient } from '../transport/client.ts';
import { idOf } from './steps.ts';

type Sent = EmrDoctor | null | undefined;

/** What finding a doctor by name needs. */
export const named_doctor: readonly Requirement[] = [search('Practitioner', 'family')];

/** For a new patient: a doctor given by name is linked if exactly one active practitioner has that name. */
export async function linkDoctor({ client }: Emr, doctor: Sent): Promise<Sent> {
  if (!doctor || 'ehr_id' in doctor || !meetsAll(client.capabilities, named_doctor)) return doctor;
  const [match, ...others] = await activeDoctors(client, doctor);
  return match && others.length === 0 ? { ehr_id: idOf(match) } : doctor;
}

/** For a change: the only active practitioner with that name. The request is refused if there is none, or several. */
export async function requireDoctor({ client }: Emr, doctor: Sent): Promise<Sent> {
  if (!doctor || 'ehr_id' in doctor || !meetsAll(client.capabilities, named_doctor)) return doctor;
  const [match, ...others] = await activeDoctors(client, doctor);
  if (match && others.length === 0) return { ehr_id: idOf(match) };
  const name = nameText(doctor);
  throw match
    ? new EmrFailure('refused', `Several referring providers are called ${name}.`, { code: 'record_ambiguous' })
    : new EmrFailure('refused', `No referring provider is called ${name}.`, { code: 'record_not_found' });
}

async function activeDoctors(client: FhirClient, name: { first_name: string; last_name: string }) {
  return (await practitionersNamed(client, name)).filter(({ active }) => active !== false);
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
const roles = [
  { property: 'pcp', prefix: 'pcp', label: 'Primary care provider' },
  { property: 'referring', prefix: 'referring_provider', label: 'Referring provider' },
] as const;

/**
 * FHIR has one place for a doctor, the interface has three fields. The text of a reference is split at its last blank,
 * unless it is the name that was sent.
 */
export function splitDoctors(changes: readonly SavedField[], sent: { pcp?: Sent; referring?: Sent }): SavedField[] {
  return changes.flatMap((change) => {
    const role = roles.find(({ property }) => property === change.property);
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

function doctorParts(value: string | null, sent: Sent): { id?: string; first_name?: string; last_name?: string } {
  if (value === null) return {};
  const id = refId({ reference: value }, 'Practitioner');
  if (id !== null) return { id };
  if (sent && 'first_name' in sent && value === nameText(sent)) return sent;
  const [, first_name, last_name = value] = /^(.*) (\S+)$/.exec(value) ?? [];
  return { ...(first_name !== undefined && { first_name }), last_name };
}
