import { within } from './waitAtMost.ts';

/** Something that is looked after every so often. Any process may do it; each chore is safe when several do. */
export type Chore = { name: string; every_ms: number; run: () => Promise<unknown> };

export type Chores = {
  /** Begins no more; what runs may finish within the grace. */
  stop(grace_ms: number): Promise<void>;
};

/** Does each chore at its interval, never two runs of one at a time. The first run comes after a tenth of it. */
export function startChores(chores: readonly Chore[], failed: (name: string, error: unknown) => void): Chores {
  let stopping = false;
  const timers = new Map<string, NodeJS.Timeout>();
  const running = new Set<Promise<unknown>>();
  const schedule = (chore: Chore, in_ms: number) => {
    if (stopping) return;
    const timer = setTimeout(() => {
      const run = chore
        .run()
        .catch((error: unknown) => failed(chore.name, error))
        .finally(() => {
          running.delete(run);
          schedule(chore, chore.every_ms);
        });
      running.add(run);
    }, in_ms);
    timers.set(chore.name, timer);
  };
  for (const chore of chores) schedule(chore, chore.every_ms / 10);
  return {
    stop: async (grace_ms) => {
      stopping = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await within(grace_ms, Promise.all(running));
    },
  };
}
