import { appendFileSync } from 'node:fs';
import { print, until } from '../../cluster/programs.ts';
import type { Interruption, User } from '../check/evidence.ts';
import type { Account } from './accounts.ts';
import type { Installation } from './installation.ts';

/**
 * Notes what the faults interrupted: a webhook may be sent again, and an account may ask for a sign-in, only because of
 * one of these.
 */
export type Interruptions = {
  /**
   * To be called right after the process was killed or frozen, while the database shows what it holds. `frozen_ms`: a
   * frozen process goes on after this time.
   */
  noteProcess(pid: number, frozen_ms?: number): Promise<void>;
  noteDatabase(at: number, until: number): void;
  /** To be called before the sign-ins are ended. */
  noteGrants(accounts: readonly Account[]): void;
  /** Links an account again, and notes it if that succeeds. Returns whether it did. */
  relink(account: Account): Promise<boolean>;
};

/** Less than a lease: afterwards, what the process held may be held by another one. */
const look_timeout_ms = 10_000;

export function createInterruptionLog({ sql }: Pick<Installation, 'sql'>, file: string): Interruptions {
  const append = (line: Interruption) => appendFileSync(file, `${JSON.stringify(line)}\n`);
  const readLeases = async (pid: number, killed: boolean) => {
    const deliveries = await sql<{ url: string; webhook_id: string }[]>`
      SELECT url, replace(event_id::text, '-', '') AS webhook_id FROM deliveries
        JOIN webhook_endpoints ON webhook_endpoints.id = endpoint_id
       WHERE owner LIKE ${`%:${pid}:%`} AND locked_until IS NOT NULL`;
    // A frozen process continues before its lease on a renewal ends.
    const renewals = killed
      ? await sql<{ account_id: string }[]>`
          SELECT account_id::text FROM grant_renewals WHERE owner LIKE ${`%:${pid}`} AND locked_until IS NOT NULL`
      : [];
    return { deliveries: [...deliveries], renewals: renewals.map(({ account_id }) => account_id) };
  };
  return {
    noteProcess: async (pid, frozen_ms) => {
      const at = Date.now();
      try {
        const killed = frozen_ms === undefined;
        const leases = await until('the database responds', () => readLeases(pid, killed), look_timeout_ms);
        append({ kind: 'process', at, frozen_until: killed ? null : Date.now() + frozen_ms, ...leases });
      } catch {
        // Then it was not this process alone.
        print('what a process held is not known, because the database is down');
        append({ kind: 'database', at, until: Date.now() });
      }
    },
    noteDatabase: (at, until) => append({ kind: 'database', at, until }),
    noteGrants: (accounts) => append({ kind: 'grants', at: Date.now(), users: accounts.map(toUser) }),
    relink: async (account) => {
      const at = Date.now();
      try {
        await account.relink();
      } catch {
        // The API or the EMR is down, or a one-time code was used before.
        return false;
      }
      append({ kind: 'linked', at, until: Date.now(), user: toUser(account) });
      return true;
    },
  };
}

function toUser({ org_id, user_id }: Account): User {
  return { org_id, user_id };
}
