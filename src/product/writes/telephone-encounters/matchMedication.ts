import { EmrFailure } from '../../../emr/emrFailure.ts';
import type { EmrMedication } from '../../../emr/operations/telephoneEncounters.ts';
import { fold } from '../../../model/fold.ts';

const name_min = 2;

/**
 * Finds the active medication with this name, ignoring case. An exact match takes precedence over a partial one. If
 * none or several different ones match, the request is rejected with a list: a wrong guess could harm the patient.
 */
export function matchMedication(name: string, medications: EmrMedication[]): EmrMedication {
  const active = medications.filter((medication) => medication.active);
  const wanted = fold(name);
  const exact = active.filter((medication) => fold(medication.name) === wanted);
  const partial = active.filter((medication) => fold(medication.name).includes(wanted));
  // A blank name is part of every name, and a single letter of most.
  const matches = wanted.length < name_min ? [] : exact.length > 0 ? exact : partial;
  const [first] = matches;
  if (!first) {
    const message = `Medication '${name}' not found. Available medications: ${names(active)}.`;
    throw new EmrFailure('refused', message, { code: 'medication_not_found', details: accepted(active) });
  }
  if (new Set(matches.map(describe)).size > 1) {
    const message = `Medication '${name}' matches several medications: ${names(matches)}. Name one exactly.`;
    throw new EmrFailure('refused', message, { code: 'medication_ambiguous', details: accepted(matches) });
  }
  return first;
}

function names(medications: EmrMedication[]): string {
  return [...new Set(medications.map(describe))].join(', ') || 'none';
}

/** The names by which exactly one of the medications is found, for a form in which the request is corrected. */
function accepted(medications: EmrMedication[]) {
  return { accepted: { refill_medication_name: [...new Set(medications.map(({ name }) => name))] } };
}

function describe(medication: EmrMedication): string {
  const { name, strength } = medication;
  return strength === null || fold(name).includes(fold(strength)) ? name : `${name} ${strength}`;
}
