import { hostname } from 'node:os';
import { newId } from '../../catalog/ids.ts';
import { version } from '../../catalog/version.ts';
import type { Database } from '../db/database.ts';
import { recordProcess, removeProcess } from '../db/processes.ts';
import { waitAtMost } from './worker.ts';

/** Reports to the other processes that this one runs, which also shows whether the database can be written to. */
export type Heartbeat = {
  /** False after a failed write, and if none has succeeded for `silent_ms`. */
  writable(): boolean;
  /** Reports now, because `working` has changed. */
  beat(): Promise<void>;
  stop(): Promise<void>;
};

const beat_ms = 5_000;
/** After a failure, so that a process is ready again soon after its database is. */
const beat_again_ms = 1_000;
const silent_ms = 30_000;

export async function startHeartbeat(
  { probes }: Pick<Database, 'probes'>,
  process: { role: string; working: () => boolean },
  onError: (error: unknown) => void,
): Promise<Heartbeat> {
  const id = newId();
  let failing = false;
  let written_at = Date.now();
  let stopping = false;
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> = Promise.resolve();

  const beat = async () => {
    try {
      await recordProcess(probes, { id, role: process.role, host: hostname(), version, working: process.working() });
      failing = false;
      written_at = Date.now();
    } catch (error) {
      // Reported once: the next beats fail for the same reason.
      if (!failing && !stopping) onError(error);
      failing = true;
    }
    if (!stopping) timer = setTimeout(run, failing ? beat_again_ms : beat_ms);
  };
  const run = () => {
    clearTimeout(timer);
    beating = beating.then(beat);
    return beating;
  };
  await run();
  return {
    beat: run,
    writable: () => !failing && Date.now() - written_at < silent_ms,
    stop: async () => {
      stopping = true;
      clearTimeout(timer);
      await waitAtMost(1_000, beating);
      await waitAtMost(
        1_000,
        removeProcess(probes, id).catch(() => {}),
      );
    },
  };
}
