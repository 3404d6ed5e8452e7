/**
 * What Link lists before anyone signs in as what the account can read and write, in this order. Every record kind and every
 * operation declares one of them, so that consent does not cover less than what happens. Link has a text for each
 * (web/link/texts). `null` instead of a subject: code lists and names that say nothing about a person.
 */
export const read_subjects = [
  'patients',
  'insurance',
  'medications',
  'orders',
  'documents',
  'referrals',
  'visits',
  'tasks',
  'balances',
  'appointments',
  'schedules',
  'claims',
  'providers',
  'staff',
  'locations',
  'pharmacies',
] as const;
export type ReadSubject = (typeof read_subjects)[number];

export const write_subjects = [
  'patients',
  'insurance',
  'appointments',
  'documents',
  'payments',
  'claims',
  'messages',
  'notes',
  'tasks',
  'refills',
  'referrals',
  'providers',
] as const;
export type WriteSubject = (typeof write_subjects)[number];
