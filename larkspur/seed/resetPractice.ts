import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { seedPractice } from './seedPractice.ts';

/** Deletes all data and seeds the practice again. Keeps the control token and therefore the credentials derived from it. */
export async function resetPractice(context: Context): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await resetOnce(context);
    } catch (error) {
      if (!isBusy(error) || attempt === ATTEMPTS_MAX) throw error;
      await wait(RETRY_MS);
    }
  }
}

const ATTEMPTS_MAX = 500;
const RETRY_MS = 20;

/** Locks all tables or none: waiting for one table while holding another could deadlock with running requests. */
async function resetOnce({ sql, now, control_token }: Context): Promise<void> {
  await sql.begin(async (tx) => {
    const tables = tx(TABLES);
    await tx`lock table ${tables} in access exclusive mode nowait`;
    await tx`truncate ${tables}`;
    await tx`update control set seeded_on = null`;
    await seedPractice(tx, control_token, now());
  });
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === LOCK_NOT_AVAILABLE;
}

const LOCK_NOT_AVAILABLE = '55P03';

const TABLES = [
  'practice',
  'staff',
  'sessions',
  'devices',
  'challenges',
  'one_time_links',
  'lockouts',
  'providers',
  'facilities',
  'pharmacies',
  'patients',
  'medications',
  'patient_pharmacies',
  'telephone_encounters',
  'refills',
  'actions',
  'tasks',
  'task_notes',
  'visit_notes',
  'patient_notes',
  'settings',
  'codes',
  'visit_types',
  'visit_statuses',
  'insurance_companies',
  'referring_providers',
  'appointments',
  'blocks',
  'claims',
  'orders',
  'referrals',
  'guarantors',
  'patient_insurances',
  'eligibility_checks',
  'balances',
  'payments',
  'alerts',
  'previous_addresses',
  'folders',
  'documents',
  'history',
  'ledger',
  'receipts',
  'faults',
];
