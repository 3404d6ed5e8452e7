import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '../../catalog/ids.ts';
import type { EmrWrite } from '../../emr/operations/operation.ts';
import type { Operations } from '../../emr/operations/operations.ts';
import type { Sql } from '../../platform/db/database.ts';

/** Someone else writes to the same EMR. Nothing was sent: the job returns to the queue, and the attempt does not count. */
export class TurnTaken extends Error {
  constructor() {
    super('Another write to the same EMR is in progress.');
    this.name = 'TurnTaken';
  }
}

/**
 * `lease`: how long others wait for a process that has died. It is extended while a write takes longer. `wait`: how long
 * a write occupies its slot to wait for another one, less than after which an EMR counts as hanging.
 */
const limits_ms = { lease: 15_000, extend: 5_000, wait: 2_000 };
const poll_ms = { first: 20, max: 200 };

/**
 * The same operations for an EMR that handles one write at a time. A write takes its turn right before it sends
 * something, and before its intent is stored: one that has to wait leaves nothing to look up.
 */
export function takeTurns(
  system: Sql,
  address: string,
  operations: Partial<Operations>,
  signal: AbortSignal,
): Partial<Operations> {
  const hash = hashAddress(address);
  const in_turns = Object.entries(operations).map(([name, operation]) => {
    // Writes are the only operations that are objects.
    if (typeof operation !== 'object') return [name, operation];
    const write = operation as unknown as EmrWrite<unknown, unknown>;
    if (!write.announces) throw new Error(`${name} does not announce when it sends something.`);
    const send: typeof write.send = async (input, marker, sending) => {
      let turn: Turn | undefined;
      try {
        return await write.send(input, marker, async () => {
          turn ??= await waitForTurn(system, hash, signal);
          await sending?.();
        });
      } finally {
        await turn?.end();
      }
    };
    return [name, { ...write, send }];
  });
  return Object.fromEntries(in_turns);
}

type Turn = { end: () => Promise<void> };

async function waitForTurn(system: Sql, hash: Buffer, signal: AbortSignal): Promise<Turn> {
  const deadline_ms = performance.now() + limits_ms.wait;
  const owner = newId();
  for (let next_ms = poll_ms.first; ; next_ms = Math.min(next_ms * 2, poll_ms.max)) {
    if (await claimTurn(system, hash, owner, limits_ms.lease)) return keepTurn(system, hash, owner);
    if (performance.now() > deadline_ms || signal.aborted) throw new TurnTaken();
    // Not all at the same moment.
    await pause(next_ms * (0.5 + Math.random()), undefined, { signal }).catch(() => {});
  }
}

/** Extends the turn until it ends. If the database does not respond, the turn may pass to someone else. */
function keepTurn(system: Sql, hash: Buffer, owner: string): Turn {
  const extend = () => claimTurn(system, hash, owner, limits_ms.lease).catch(() => {});
  const timer = setInterval(() => void extend(), limits_ms.extend);
  return {
    end: async () => {
      clearInterval(timer);
      // The write has its outcome already. A turn that is not given back ends by itself.
      await endTurn(system, hash, owner).catch(() => {});
    },
  };
}

/**
 * Claims or extends the right to write. Returns whether the owner has it. A lease that lies further in the future than
 * it can was set by a database server whose clock was ahead, and does not count.
 */
export async function claimTurn(system: Sql, hash: Buffer, owner: string, lease_ms: number): Promise<boolean> {
  const sql = system.pooled;
  const end = sql`clock_timestamp() + ${lease_ms}::float8 * interval '1 millisecond'`;
  const claimed = await sql`
    INSERT INTO write_turns AS present (address_hash, owner, locked_until) VALUES (${hash}, ${owner}, ${end})
    ON CONFLICT (address_hash) DO UPDATE SET owner = excluded.owner, locked_until = excluded.locked_until
     WHERE present.owner = excluded.owner OR present.locked_until NOT BETWEEN clock_timestamp() AND ${end}
    RETURNING owner`;
  return claimed.length > 0;
}

export async function endTurn(system: Sql, hash: Buffer, owner: string): Promise<void> {
  await system.pooled`DELETE FROM write_turns WHERE address_hash = ${hash} AND owner = ${owner}`;
}

/** The same for all spellings of an address. */
export function hashAddress(address: string): Buffer {
  const { host, pathname } = new URL(address);
  return createHash('sha256')
    .update(`${host}${pathname.replace(/\/+$/, '')}`)
    .digest();
}
