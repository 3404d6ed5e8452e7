import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from '../context.ts';
import { layPractice } from './layPractice.ts';

/** Back to the day the practice was laid: everything goes but the control token, and with it everyone's credentials stay. */
export async function resetPractice(context: Context): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await resetOnce(context);
    } catch (error) {
      if (!isBusy(error) || tries === TRIES_MAX) throw error;
      await wait(TRY_AGAIN_MS);
    }
  }
}

const TRIES_MAX = 500;
const TRY_AGAIN_MS = 20;

/** Takes all tables at once or none: waiting for one while holding another would deadlock with requests under way. */
async function resetOnce({ sql, now, control_token }: Context): Promise<void> {
  await sql.begin(async (tx) => {
    const tables = tx(TABLES);
    await tx`lock table ${tables} in access exclusive mode nowait`;
    await tx`truncate ${tables}`;
    await tx`update control set seeded_on = null, charts_seeded_on = null`;
    await layPractice(tx, control_token, now());
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
  'guarantors',
  'patient_insurances',
  'eligibility_checks',
  'balances',
  'alerts',
  'previous_addresses',
  'folders',
  'documents',
  'history',
  'ledger',
  'receipts',
  'faults',
];
