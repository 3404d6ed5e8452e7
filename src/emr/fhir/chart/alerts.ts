import type * as fhir from 'fhir/r4.js';
import type { LiveAlerts } from '../../../model/liveChart.ts';
import { type FhirOperation, reading } from '../operation.ts';
import { canSearch, type Emr, searchChart } from '../references.ts';
import { searches } from '../transport/capabilities.ts';
import { hasCode, isInForce, joinNotes, list, readLabel, text, toDay } from '../values.ts';

/** Flags and allergies. FHIR has no billing alerts. */
export async function getAlerts({ client, timezone }: Emr, patient_ehr_id: string): Promise<LiveAlerts> {
  const flags = await searchChart<fhir.Flag>(client, 'Flag', patient_ehr_id, ({ subject }) => [subject]);
  const type = 'AllergyIntolerance';
  const allergies = canSearch(client, type, ['patient'])
    ? await searchChart<fhir.AllergyIntolerance>(client, type, patient_ehr_id, ({ patient }) => [patient])
    : [];
  const global_alerts = [
    ...flags.filter((flag) => isInForce(flag, timezone)).map((flag) => flagToAlert(flag, timezone)),
    ...allergies.filter(isRelevantAllergy).map(allergyToAlert),
  ];
  return { billing_alert: false, billing_notes: null, global_alerts };
}

type Alert = LiveAlerts['global_alerts'][number];

export function flagToAlert(flag: fhir.Flag, timezone: string): Alert {
  return {
    name: readLabel(flag.code) ?? '',
    alert_type: readLabel(list(flag.category)[0]),
    notes: null,
    priority: null,
    expiry_date: toDay(flag.period?.end, timezone),
  };
}

export function allergyToAlert(allergy: fhir.AllergyIntolerance): Alert {
  const reactions = list(allergy.reaction)
    .flatMap(({ manifestation }) => list(manifestation).map(readLabel))
    .filter((label) => label !== null);
  const notes = [reactions.join(', '), joinNotes(allergy.note) ?? ''].filter((note) => note !== '');
  return {
    name: readLabel(allergy.code) ?? '',
    alert_type: 'allergy',
    notes: text(notes.join('\n')),
    priority: text(allergy.criticality),
    expiry_date: null,
  };
}

/** Excludes allergies that are inactive, resolved, refuted or entered in error. */
function isRelevantAllergy({ clinicalStatus, verificationStatus }: fhir.AllergyIntolerance): boolean {
  const systems = 'http://terminology.hl7.org/CodeSystem';
  return (
    !hasCode(clinicalStatus, `${systems}/allergyintolerance-clinical`, ['INACTIVE', 'RESOLVED']) &&
    !hasCode(verificationStatus, `${systems}/allergyintolerance-verification`, ['REFUTED', 'ENTERED-IN-ERROR'])
  );
}

export const alert_operations: readonly FhirOperation[] = [
  { operation: 'getAlerts', requires: [searches('Flag', 'patient')], open: reading(getAlerts) },
];
