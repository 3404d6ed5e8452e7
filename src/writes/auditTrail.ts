import type { SavedField } from '../connectors/patientWrites.ts';
import type { EventData } from '../events.ts';

/** What the EMR says it changed, over all the steps of a write. */
export function savedFields(outcomes: Iterable<Record<string, unknown>>): SavedField[] {
  return [...outcomes].flatMap((outcome) => (outcome.changes as SavedField[] | undefined) ?? []);
}

/** The trail that the client is told: where the EMR corrected a value, what was submitted, with a note of what is saved. */
export function auditTrail(fields: SavedField[]): EventData<'patient.updated'>['audit_trail'] {
  return fields.map(({ corrected, ...field }) =>
    corrected
      ? { ...field, after: corrected.sent, note: `${corrected.note} Saved: ${field.after ?? 'nothing'}.` }
      : field,
  );
}
