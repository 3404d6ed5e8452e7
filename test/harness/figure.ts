/** The figure of a test that `npm run soak` repeats with a larger one, given in the environment; `short` otherwise. */
export function figure(name: string, short: number): number {
  return Number(process.env[name] ?? short);
}

/** A timeout for a test that takes `each_ms` per unit of its figure on a busy machine, at least the usual one. */
export function timeoutFor(count: number, each_ms: number): number {
  return Math.max(300_000, count * each_ms);
}
