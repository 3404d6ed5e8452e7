import { usDay } from './days.ts';
import { PATIENTS } from './patients.ts';
import type { Chance } from './random.ts';

type Entry = [name: string, strength: string, frequency: string, active?: boolean];

/**
 * Some patients take two medications that share a word, and some take one whose full name is part of another's, to
 * test refill requests by name.
 */
export function medicationRows(chance: Chance, now: Date) {
  const lists = Array.from({ length: PATIENTS }, (_, index) => createList(chance, index));
  return lists
    .flatMap((list, index) => list.map((entry) => ({ patientId: String(10001 + index), entry })))
    .map(({ patientId, entry: [name, strength, frequency, active = true] }, index) => ({
      medicationId: String(20001 + index),
      patientId,
      name,
      strength,
      frequency,
      startDate: usDay(now, -chance.below(900) - 10),
      refills: String(chance.below(6)),
      notes: chance.happens(0.2) ? 'Take with food' : null,
      activeFlag: active ? 'Y' : 'N',
    }));
}

function createList(chance: Chance, index: number): Entry[] {
  if (index === 0) return [lisinopril, atorvastatin, stopped];
  if (index % 10 === 1) return [metformin, metforminEr, amlodipine];
  if (index % 10 === 2) return [aspirin, aspirinEc, stopped];
  if (index % 10 === 3) return [];
  return chance
    .sample(formulary, chance.below(5))
    .map(([name, strength, frequency]) => [name, strength, frequency, chance.happens(0.8)]);
}

const lisinopril: Entry = ['Lisinopril 10 mg', '10 mg', 'once daily'];
const atorvastatin: Entry = ['Atorvastatin 20 mg', '20 mg', 'at bedtime'];
const stopped: Entry = ['Amoxicillin 500 mg', '500 mg', 'three times daily', false];
const metformin: Entry = ['Metformin 500 mg', '500 mg', 'twice daily'];
const metforminEr: Entry = ['Metformin ER 750 mg', '750 mg', 'once daily'];
const amlodipine: Entry = ['Amlodipine 5 mg', '5 mg', 'once daily'];
const aspirin: Entry = ['Aspirin', '325 mg', 'as needed'];
const aspirinEc: Entry = ['Aspirin EC 81 mg', '81 mg', 'once daily'];

const formulary: Entry[] = [
  lisinopril,
  atorvastatin,
  metformin,
  metforminEr,
  amlodipine,
  aspirinEc,
  ['Albuterol HFA 90 mcg', '90 mcg', 'every 4 hours as needed'],
  ['Albuterol Nebulizer Solution 2.5 mg', '2.5 mg', 'every 6 hours as needed'],
  ['Insulin Glargine 100 units/mL', '100 units/mL', 'at bedtime'],
  ['Insulin Lispro 100 units/mL', '100 units/mL', 'before meals'],
  ['Levothyroxine 50 mcg', '50 mcg', 'every morning'],
  ['Metoprolol Succinate ER 50 mg', '50 mg', 'once daily'],
  ['Metoprolol Tartrate 25 mg', '25 mg', 'twice daily'],
  ['Omeprazole 20 mg', '20 mg', 'before breakfast'],
  ['Sertraline 50 mg', '50 mg', 'once daily'],
];
