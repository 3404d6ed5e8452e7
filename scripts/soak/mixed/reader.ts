import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Chance, seededChance } from '../../../larkspur/seed/random.ts';
import type { Call } from '../../linkAccount.ts';
import type { CachedRead } from '../check/evidence.ts';
import { token_pattern } from '../check/invariants.ts';
import type { Account } from './accounts.ts';
import type { Installation } from './installation.ts';

export type Reader = { reads(): number; stop(): Promise<void> };

type Announced = { job_id: string; type: EventType; record_id: string; mrn: string; org_id: string };

/** How many records are read per turn, the pause between turns, and how many records are remembered. */
const reads_per_turn = 4;
const pause_ms = 150;
const remembered_max = 200;

/**
 * Reads records from the cache, again and again after the event of a write, and notes which state each read returned. An
 * event counts from its commit on, which is earlier than any client learns of it.
 */
export function startReader(
  { sql }: Installation,
  accounts: readonly Account[],
  options: { seed: number; file: string },
): Reader {
  const chance = seededChance(options.seed);
  /** The newest event of each record. */
  const announced = new Map<string, Announced>();
  let reads = 0;
  let stopped = false;

  /** The last seconds again and again: transactions of several processes do not commit in the order of their times. */
  const learn = async () => {
    const rows = await sql<Announced[]>`
      SELECT jobs.id::text AS job_id, events.type, org_id,
             coalesce(events.body::json -> 'data' ->> 'appointment_id', events.body::json -> 'data' ->> 'patient_id') AS record_id,
             events.body::json -> 'data' ->> 'mrn' AS mrn
        FROM events JOIN jobs ON jobs.event_id = events.id JOIN organizations ON organizations.id = jobs.organization_id
       WHERE events.created_at > now() - interval '20 seconds' AND events.type = ANY (${Object.keys(shown)})
       ORDER BY jobs.finished_at`;
    for (const event of rows) {
      announced.delete(event.record_id);
      announced.set(event.record_id, event);
    }
    for (const oldest of [...announced.keys()].slice(0, -remembered_max)) announced.delete(oldest);
  };
  const readOne = async (event: Announced) => {
    const account = accounts.find(({ org_id }) => org_id === event.org_id);
    if (!account) return;
    const text = (await shown[event.type](account, event)) ?? '';
    const { record_id, job_id } = event;
    const line: CachedRead = { record_id, job_id, seen: new RegExp(token_pattern).exec(text)?.[0] ?? null };
    appendFileSync(options.file, `${JSON.stringify(line)}\n`);
    reads++;
  };
  const run = async () => {
    while (!stopped) {
      // The database or the API may be down, or the account's link may have expired: then nothing was read.
      await learn()
        .then(() => Promise.allSettled(recent(chance, [...announced.values()]).map(readOne)))
        .catch(() => {});
      await pause(pause_ms);
    }
  };
  const running = run();
  return {
    reads: () => reads,
    stop: async () => {
      stopped = true;
      await running;
    },
  };
}

type EventType = 'patient.created' | 'patient.updated' | 'appointment.created';

/** The field of the cached record that contains the unique text of the write. */
const shown: Record<EventType, (account: Account, event: Announced) => Promise<string | null | undefined>> = {
  'patient.created': async ({ call }, event) => (await readPatient(call, event))?.last_name,
  'patient.updated': async ({ call }, event) => (await readPatient(call, event))?.address_street,
  'appointment.created': async ({ call }, { record_id }) =>
    (await call('GET', `/v1/appointments/${record_id}`)).appointment.reason,
};

async function readPatient(call: Call, { mrn }: Announced): Promise<Record<string, string | null> | undefined> {
  return (await call('GET', `/v1/patients?mrn=${encodeURIComponent(mrn)}`)).patients[0];
}

/** Mostly records whose event is new: the states that a page of a sync may be about to overwrite. */
function recent(chance: Chance, events: readonly Announced[]): Announced[] {
  return Array.from({ length: reads_per_turn }, () => {
    const back = Math.min(chance.below(events.length + 1), chance.below(events.length + 1));
    return events.at(-1 - back);
  }).flatMap((event) => event ?? []);
}
