import { isPracticeSeeded, markPracticeSeeded } from '../control/control.ts';
import { insertMany } from '../database/insertMany.ts';
import type { Query } from '../database/open.ts';
import { usDay } from './days.ts';
import { medicationRows } from './medications.ts';
import { patientPharmacyRows, patientRows } from './patients.ts';
import { facilityRows, pharmacyRows } from './places.ts';
import { providerRows } from './providers.ts';
import { seededChance } from './random.ts';
import { seedCharts } from './seedCharts.ts';
import { staffRows } from './staff.ts';
import { taskRows } from './tasks.ts';
import { telephoneEncounterRows } from './telephoneEncounters.ts';

/** A patient with active medications, and related records, for examples of requests. */
export const example = {
  patient_mrn: 'LK100001',
  provider_id: '501',
  location_id: '11',
  assigned_to_id: '703',
  pharmacy_ehr_id: '9002',
};

/** Seeds the practice and its charts, unless the database already has them. */
export async function seedPractice(sql: Query, control_token: string, now: Date): Promise<void> {
  if (await isPracticeSeeded(sql)) return;
  await insertPractice(sql, control_token, now);
  await seedCharts(sql, now);
  await markPracticeSeeded(sql, usDay(now));
}

async function insertPractice(sql: Query, control_token: string, now: Date): Promise<void> {
  const chance = seededChance(20_260_101);
  const { encounters, actions } = telephoneEncounterRows(seededChance(20_260_102), now);
  await insertMany(sql, 'practice', [{ practiceName: 'Larkspur Family Practice', timeZone: 'America/New_York' }]);
  await insertMany(sql, 'staff', await staffRows(control_token));
  await insertMany(sql, 'providers', providerRows(now));
  await insertMany(sql, 'facilities', facilityRows());
  await insertMany(sql, 'pharmacies', pharmacyRows());
  await insertMany(sql, 'patients', patientRows(chance, now));
  await insertMany(sql, 'medications', medicationRows(chance, now));
  await insertMany(sql, 'patient_pharmacies', patientPharmacyRows(chance));
  await insertMany(sql, 'telephone_encounters', encounters);
  await insertMany(sql, 'actions', actions);
  const { tasks, notes } = taskRows(now);
  await insertMany(sql, 'tasks', tasks);
  await insertMany(sql, 'task_notes', notes);
  for (const [sequence, last] of sequences) await sql`select setval(${sequence}, ${last})`;
}

/** The last id of the range reserved for the seed, per sequence. New records get higher ids. */
const sequences: [sequence: string, last: number][] = [
  ['provider_ids', 508],
  ['staff_ids', 712],
  ['facility_ids', 13],
  ['pharmacy_ids', 9015],
  ['patient_ids', 10200],
  ['mrn_numbers', 100200],
  ['medication_ids', 29999],
  ['encounter_ids', 39999],
  ['patient_pharmacy_ids', 49999],
  ['action_ids', 59999],
  ['refill_ids', 60000],
];
