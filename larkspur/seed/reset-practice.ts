import type { Context } from '../context.ts';
import { layPractice } from './lay-practice.ts';

/** Back to the day the practice was laid: everything goes but the control token, and with it everyone's credentials stay. */
export async function resetPractice({ sql, now, control_token }: Context): Promise<void> {
  await sql.begin(async (tx) => {
    // Writes lock receipts first and sign-ins lockouts: taking those two first waits for both and deadlocks with neither.
    await tx`
      truncate receipts, lockouts, sessions, devices, challenges, practice, staff, providers, facilities, pharmacies,
        patients, medications, patient_pharmacies, telephone_encounters, refills, actions, history, ledger, faults`;
    await tx`update control set seeded_on = null`;
    await layPractice(tx, control_token, now());
  });
}
