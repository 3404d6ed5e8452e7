import type { Static, TSchema } from 'typebox';
import { account_events } from './events/accounts.ts';
import { appointment_events } from './events/appointments.ts';
import { billing_events } from './events/billing.ts';
import { chart_events } from './events/chart.ts';
import { document_events } from './events/documents.ts';
import { note_events } from './events/notes.ts';
import { patient_insurance_events } from './events/patientInsurance.ts';
import { patient_events } from './events/patients.ts';
import { referral_events } from './events/referrals.ts';
import { task_events } from './events/tasks.ts';
import { telephone_encounter_events } from './events/telephoneEncounters.ts';

/** The event catalogue, in the order of the reference. `docs/reference/events.md` is generated from it. */
export const events = {
  ...telephone_encounter_events,
  ...patient_events,
  ...patient_insurance_events,
  ...appointment_events,
  ...document_events,
  ...task_events,
  ...note_events,
  ...billing_events,
  ...chart_events,
  ...referral_events,
  ...account_events,
};

export type EventType = keyof typeof events;
export type EventData<T extends EventType> = Static<(typeof events)[T]['data']>;
/** An event type paired with its data. */
export type EventOf<T extends EventType = EventType> = { [K in T]: { type: K; data: EventData<K> } }[T];

/** The types of changes that staff make in the EMR and that a sync finds. */
export type SyncEventType = {
  [K in EventType]: (typeof events)[K] extends { sync_data: TSchema } ? K : never;
}[EventType];
export type SyncEventOf<T extends SyncEventType = SyncEventType> = {
  [K in T]: { type: K; data: Static<(typeof events)[K]['sync_data']> };
}[T];

/** The requests of src/surfaces/sandbox/triggers that the catalogue names. */
export type TriggerRequest = (typeof events)[EventType]['trigger']['request'];

export const event_types = Object.keys(events) as EventType[];

/** The MRNs found in an event's data, a job's input or a request. */
export function collectMrns(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { patient_mrn, mrn, duplicate_patient_mrn, surviving_mrn, patients, appointments } = value as Record<
    string,
    unknown
  >;
  const listed = [
    ...(Array.isArray(patients) ? patients.map((each) => (each as { mrn?: unknown } | null)?.mrn) : []),
    ...(Array.isArray(appointments)
      ? new Set(appointments.map((each) => (each as { patient_mrn?: unknown } | null)?.patient_mrn))
      : []),
  ];
  return [patient_mrn, mrn, duplicate_patient_mrn, surviving_mrn, ...listed].filter(
    // PostgreSQL cannot store a NUL character.
    (each): each is string => typeof each === 'string' && each !== '' && !each.includes('\0'),
  );
}
