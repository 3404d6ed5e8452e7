/** How often an unavailable EMR is retried, and for how long in total. */
export const retry = { first_ms: 1_000, longest_ms: 60_000, total_ms: 3_600_000, jitter: 0.2 } as const;

/** The pause after the n-th consecutive failure (from 1): 1 s, doubled up to 60 s, with 20 % jitter. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  const plain = Math.min(retry.longest_ms, retry.first_ms * 2 ** Math.min(failures - 1, 16));
  return Math.round(jittered(plain, random));
}

export function jittered(ms: number, random: () => number = Math.random): number {
  return ms * (1 + retry.jitter * (2 * random() - 1));
}

/**
 * Sets aside a destination that hangs: after `failures_max` slow failures in a row, only one attempt at a time goes to
 * it, after a pause that doubles up to `pause_max_ms`. The next success ends this. Without it, every job of a hanging
 * EMR would occupy a slot until its timeout. Kept in memory: each process finds out for itself.
 */
export type Circuits = {
  /** 0 if an attempt may start now, whose result must then be reported; otherwise the milliseconds to wait. */
  admit(key: string): number;
  /** `hung`: the destination did not respond in time. Errors that arrive quickly are not failures here. */
  report(key: string, result: 'responded' | 'hung' | 'unknown'): void;
};

/** A failed attempt that took this long counts as hung. */
export const hung_after_ms = 5_000;

export function createCircuits({
  failures_max = 3,
  pause_ms = 2_000,
  pause_max_ms = 60_000,
  now = Date.now,
}: {
  failures_max?: number;
  pause_ms?: number;
  pause_max_ms?: number;
  now?: () => number;
} = {}): Circuits {
  const hanging = new Map<string, { failures: number; open_until: number; probing: boolean }>();
  return {
    admit: (key) => {
      const state = hanging.get(key);
      if (!state || state.failures < failures_max) return 0;
      if (state.probing) return pause_ms;
      const wait_ms = state.open_until - now();
      if (wait_ms > 0) return wait_ms;
      state.probing = true;
      return 0;
    },
    report: (key, result) => {
      if (result === 'responded') {
        hanging.delete(key);
        return;
      }
      const state = hanging.get(key);
      if (result === 'unknown') {
        if (state) state.probing = false;
        return;
      }
      const failures = (state?.failures ?? 0) + 1;
      const pause = Math.min(pause_ms * 2 ** Math.max(0, failures - failures_max), pause_max_ms);
      hanging.set(key, { failures, open_until: now() + pause, probing: false });
    },
  };
}
