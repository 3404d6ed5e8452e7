import { waitAtMost } from './worker.ts';

/** Work that is repeated at an interval, in every worker process. Each task must be safe to run concurrently. */
export type ScheduledTask = { name: string; every_ms: number; run: () => Promise<unknown> };

export type ScheduledTasks = {
  /** Starts no further runs and waits up to `grace_ms` for those in progress. */
  stop(grace_ms: number): Promise<void>;
};

/** Runs each task at its interval, one run of a task at a time. The first run starts after a tenth of the interval. */
export function startScheduledTasks(
  tasks: readonly ScheduledTask[],
  onError: (name: string, error: unknown) => void,
): ScheduledTasks {
  let stopping = false;
  const timers = new Map<string, NodeJS.Timeout>();
  const running = new Set<Promise<unknown>>();
  const schedule = (task: ScheduledTask, in_ms: number) => {
    if (stopping) return;
    const timer = setTimeout(() => {
      const run = task
        .run()
        .catch((error: unknown) => onError(task.name, error))
        .finally(() => {
          running.delete(run);
          schedule(task, task.every_ms);
        });
      running.add(run);
    }, in_ms);
    timers.set(task.name, timer);
  };
  for (const task of tasks) schedule(task, task.every_ms / 10);
  return {
    stop: async (grace_ms) => {
      stopping = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await waitAtMost(grace_ms, Promise.all(running));
    },
  };
}
