import type { SavedField } from '../../emr/patientWrites.ts';
import type { EventData } from '../../model/events.ts';

/** The fields that the EMR reports as changed, over all steps of a write. */
export function savedFields(outcomes: Iterable<Record<string, unknown>>): SavedField[] {
  return [...outcomes].flatMap((outcome) => (outcome.changes as SavedField[] | undefined) ?? []);
}

/**
 * The `audit_trail` of an event: the fields that changed, and those whose value the EMR did not take. Where
 * the EMR corrected a value: the value sent, and a note with the value saved.
 */
export function auditTrail(fields: SavedField[]): EventData<'patient.updated'>['audit_trail'] {
  const changed = fields.filter(({ before, after, corrected }) => corrected || before !== after);
  return changed.map(({ corrected, ...field }) =>
    corrected
      ? { ...field, after: corrected.sent, note: `${corrected.note} Saved: ${field.after ?? 'nothing'}.` }
      : field,
  );
}
