import { isSeeded, markSeeded } from '../control/control.ts';
import { insertMany } from '../database/insertMany.ts';
import type { Query } from '../database/open.ts';
import { callRows } from './calls.ts';
import { usDay } from './days.ts';
import { layCharts } from './layCharts.ts';
import { medicationRows } from './medications.ts';
import { patientPharmacyRows } from './patientPharmacies.ts';
import { patientRows } from './patients.ts';
import { facilityRows, pharmacyRows } from './places.ts';
import { providerRows } from './providers.ts';
import { seededChance } from './random.ts';
import { staffRows } from './staff.ts';

/** Lays the practice and its charts once; a database that has them is left as it is. */
export async function layPractice(sql: Query, control_token: string, now: Date): Promise<void> {
  if (!(await isSeeded(sql))) await layOnce(sql, control_token, now);
  await layCharts(sql, now);
}

async function layOnce(sql: Query, control_token: string, now: Date): Promise<void> {
  const chance = seededChance(20_260_101);
  const { encounters, actions } = callRows(seededChance(20_260_102), now);
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
  for (const [sequence, last] of sequences) await sql`select setval(${sequence}, ${last})`;
  await markSeeded(sql, usDay(now));
}

/** Where each numbering goes on after the seed: every range is wider than the seed will ever fill. */
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
