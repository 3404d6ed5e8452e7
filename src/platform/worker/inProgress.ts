/**
 * How many jobs of a client this worker is running. A transaction of one of them waits a few milliseconds for the
 * others: EMR responses arrive at different times, and jobs that could share a commit would miss each other.
 */
export type InProgress = () => number;

/** For a job that waits for no other. */
export const alone: InProgress = () => 1;

/** Counts what is in progress, by client. */
export function countByClient() {
  const counts = new Map<string, number>();
  return {
    of:
      (client_id: string): InProgress =>
      () =>
        counts.get(client_id) ?? 1,
    during: async (client_id: string, work: () => Promise<void>): Promise<void> => {
      counts.set(client_id, (counts.get(client_id) ?? 0) + 1);
      try {
        await work();
      } finally {
        const left = (counts.get(client_id) ?? 1) - 1;
        if (left > 0) counts.set(client_id, left);
        else counts.delete(client_id);
      }
    },
  };
}
