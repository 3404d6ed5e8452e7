import type { Checked } from './check/main.ts';

/** The committed result of the last whole run. */
export const result_file = 'docs/reference/soak-run.json';

export type SoakRun = {
  seed: number;
  minutes: number;
  date: string;
  machine: string;
  node: string;
  stages: {
    name: string;
    passed: boolean;
    duration_s: number;
    /** Texts by the row of the promise. */
    figures: Record<number, string>;
    invariants?: Checked[];
  }[];
};
