import { onTestFinished, vi } from 'vitest';

/** Keeps the timers that match from running until the end of the test. Returns their callbacks, for the test to call. */
export function interceptTimers(matches: (ms: number | undefined) => boolean): (() => void)[] {
  const callbacks: (() => void)[] = [];
  const real = globalThis.setTimeout;
  const intercepted = ((callback: () => void, ms?: number, ...rest: []) => {
    if (!matches(ms)) return real(callback, ms, ...rest);
    callbacks.push(callback);
    return real(() => {}, 0);
  }) as typeof setTimeout;
  const spy = vi.spyOn(globalThis, 'setTimeout').mockImplementation(intercepted);
  onTestFinished(() => void spy.mockRestore());
  return callbacks;
}
