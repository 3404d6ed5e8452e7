import type { Sql } from '../db/database.ts';

/** Often enough that no timeout for idle transactions ends the one that holds the lock. */
const heartbeat_ms = 500;

/**
 * Runs work while no other process of the installation rotates master keys. The lock ends with its connection, so a
 * killed process leaves none behind.
 */
export function rotationLock(system: Sql): <T>(work: () => Promise<T>) => Promise<T> {
  // Callers of one process queue here: waiting in the database, they would take all connections that the work needs.
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(() => whileLocked(system, work));
    last = result.catch(() => {});
    return result;
  };
}

function whileLocked<T>(system: Sql, work: () => Promise<T>): Promise<T> {
  return system.begin(async (tx) => {
    await tx`SELECT pg_advisory_xact_lock(hashtextextended('chartwire.key_rotation', 0))`;
    // A lost connection fails the commit, and with it the call.
    const heartbeat = setInterval(() => void tx`SELECT 1`.catch(() => {}), heartbeat_ms);
    try {
      return await work();
    } finally {
      clearInterval(heartbeat);
    }
  });
}
