import { EmrFailure, type EmrMedication } from '../../connectors/connector.ts';

/**
 * Finds the active medication with this name, ignoring case. An exact match takes precedence over a partial one. If
 * none or several different ones match, the request is rejected with a list: a wrong guess could harm the patient.
 */
export function matchMedication(name: string, medications: EmrMedication[]): EmrMedication {
  const active = medications.filter((medication) => medication.active);
  const wanted = fold(name);
  const exact = active.filter((medication) => fold(medication.name) === wanted);
  const matches = exact.length > 0 ? exact : active.filter((medication) => fold(medication.name).includes(wanted));
  const [first] = matches;
  if (!first) {
    throw new EmrFailure('refused', `Medication '${name}' not found. Available medications: ${names(active)}.`);
  }
  if (new Set(matches.map(describe)).size > 1) {
    throw new EmrFailure(
      'refused',
      `Medication '${name}' matches several medications: ${names(matches)}. Name one exactly.`,
    );
  }
  return first;
}

function fold(name: string): string {
  return name.trim().replace(/\s+/g, ' ').toLowerCase();
}

function names(medications: EmrMedication[]): string {
  return [...new Set(medications.map(describe))].join(', ') || 'none';
}

function describe(medication: EmrMedication): string {
  const { name, strength } = medication;
  return strength === null || fold(name).includes(fold(strength)) ? name : `${name} ${strength}`;
}
