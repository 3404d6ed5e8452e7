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
