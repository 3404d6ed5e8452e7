import { daysFrom } from './days.ts';
import { PATIENTS } from './patients.ts';
import type { Chance } from './random.ts';

const ENCOUNTERS = 40;

/** Telephone encounters of the last 60 days, each with one entry in its action log. */
export function telephoneEncounterRows(chance: Chance, now: Date) {
  const encounters = Array.from({ length: ENCOUNTERS }, (_, index) => {
    const [reason, message, templateName] = chance.pick(reasons);
    return {
      encounterId: String(30001 + index),
      patientId: String(10001 + (index < 2 ? index : chance.below(PATIENTS))),
      providerId: String(501 + chance.below(8)),
      facilityId: String(11 + chance.below(3)),
      assignedTo: chance.pick(['703', '704', '705']),
      reason,
      caller: chance.pick(['Patient', 'Spouse', 'Daughter', 'Care home nurse']),
      message,
      priority: chance.happens(0.2) ? 'H' : 'N',
      pharmacyId: null,
      templateName,
      createdAt: daysFrom(now, -(ENCOUNTERS - index) * 1.5),
      createdBy: chance.pick(['Avery Deskwell', 'Blair Counterby']),
    };
  });
  const actions = encounters.map((encounter, index) => ({
    actionId: String(50001 + index),
    encounterId: encounter.encounterId,
    at: daysFrom(encounter.createdAt, 0.1),
    by: 'Casey Bandageworth, RN',
    text: chance.pick([
      'Called back, left a message.',
      'Spoke with the patient; advice given.',
      'Passed on to the provider.',
    ]),
    priority: null,
  }));
  return { encounters, actions };
}

type Reason = [reason: string, message: string, templateName: string | null];

const reasons: [Reason, ...Reason[]] = [
  ['Medication question', 'Asks whether the evening dose can be taken with food.', null],
  ['Test results', 'Would like to know whether last week’s results are in.', null],
  ['Appointment', 'Wants an earlier appointment if one comes free.', 'Scheduling call'],
  ['New symptom', 'Reports a cough for three days, no fever.', 'Nurse triage'],
];
