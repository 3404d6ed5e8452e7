import { startLarkspur } from '../../larkspur/start.ts';
import type { DatabaseAddress } from '../../sql/address.ts';
import { type FreshDatabase, freshDatabase, onDatabase, template } from './postgres.ts';

/**
 * A database with Larkspur's practice as seeded at `now`, cloned from a template: seeding takes 1.3 s, more than most
 * files' tests. All clones have the same credentials. `small` keeps 60 claims and 60 appointments, for tests that read all
 * of them often.
 */
export async function seededLarkspur({
  now,
  small = false,
}: {
  now?: Date;
  small?: boolean;
} = {}): Promise<FreshDatabase> {
  const name = ['larkspur', ...(now ? [now.getTime()] : []), ...(small ? ['small'] : [])].join('_');
  const seed = async (database: DatabaseAddress) => {
    const clock = now ? { now: () => now } : {};
    await (await startLarkspur({ database, host: '127.0.0.1', port: 0, ...clock })).close();
    if (small) await thinOut(database);
  };
  return freshDatabase('larkspur', await template(name, seed));
}

async function thinOut(address: DatabaseAddress): Promise<void> {
  await onDatabase(address, async (sql) => {
    await sql`DELETE FROM claims WHERE claim_id NOT IN (SELECT claim_id FROM claims ORDER BY claim_id LIMIT 60)`;
    await sql`DELETE FROM appointments
      WHERE appointment_id NOT IN (SELECT appointment_id FROM appointments ORDER BY appointment_id LIMIT 60)`;
  });
}
