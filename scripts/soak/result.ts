import type { Checked } from './check/main.ts';

/** The committed results: of each stage the last one, which a whole run or `--stage` replaces. */
export const result_file = 'docs/reference/soak-run.json';

export type StageRun = {
  name: string;
  seed: number;
  minutes: number;
  /** When it ended, in UTC. */
  at: string;
  machine: string;
  node: string;
  passed: boolean;
  duration_s: number;
  /** Texts by the row of the promise. */
  figures: Record<number, string>;
  invariants?: Checked[];
  /** Why the stage ended before it had a result. */
  error?: string;
};
