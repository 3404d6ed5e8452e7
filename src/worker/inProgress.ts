/**
 * How many jobs of a client this worker runs at the moment. A transaction of one of them waits for the others for some
 * milliseconds: the responses of an EMR spread jobs in time that could share a commit.
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
