import { useQueries } from '@tanstack/react-query';
import { type ApiError, call, type ResponseOf } from '../../service/api.ts';
import { useClient } from '../../service/client.tsx';
import type { JobRow } from '../../service/types.ts';

type JobPatient = ResponseOf<'jobs.patients'>['patients'][number];

type ListedJob = Pick<JobRow, 'job_id' | 'state'>;

export type JobPatients = {
  of: (job: ListedJob) => JobPatient | undefined;
  error: ApiError | null;
  retry: () => void;
};

/**
 * The patients and failure reasons of listed jobs. Showing them is in the audit log, so each job is asked for once per
 * state: live updates of the list ask only for what is new.
 */
export function useJobPatients(jobs: readonly ListedJob[]): JobPatients {
  const { client_id } = useClient();
  const results = useQueries({
    queries: jobs.map((job) => ({
      queryKey: ['job-patient', client_id, job.job_id, job.state],
      queryFn: () => loadPatient(client_id, job.job_id),
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })),
  });
  const by_id = new Map(jobs.map((job, n) => [job.job_id, results[n]?.data ?? undefined]));
  const failed = results.filter(({ error }) => error !== null);
  return {
    of: ({ job_id }) => by_id.get(job_id),
    error: (failed[0]?.error as ApiError | undefined) ?? null,
    retry: () => {
      for (const { refetch } of failed) void refetch();
    },
  };
}

/** The endpoint's limit. */
const batch_max = 200;

type Waiting = Map<number, (patient: Promise<JobPatient | null>) => void>;
const waiting_by_client = new Map<string, Waiting>();

/** Collects the jobs that are asked for at the same moment into one request, and so into one audit record. */
function loadPatient(client_id: string, job_id: number): Promise<JobPatient | null> {
  return new Promise((resolve) => {
    let waiting = waiting_by_client.get(client_id);
    if (!waiting) {
      waiting = new Map();
      waiting_by_client.set(client_id, waiting);
      setTimeout(() => sendWaiting(client_id));
    }
    waiting.set(job_id, resolve);
  });
}

function sendWaiting(client_id: string): void {
  const waiting = [...(waiting_by_client.get(client_id) ?? [])];
  waiting_by_client.delete(client_id);
  for (let n = 0; n < waiting.length; n += batch_max) {
    const jobs = waiting.slice(n, n + batch_max);
    const body = { job_ids: jobs.map(([job_id]) => job_id) };
    const response = call('jobs.patients', { client_id }, { body, background: true });
    for (const [job_id, resolve] of jobs) {
      resolve(response.then(({ patients }) => patients.find((each) => each.job_id === job_id) ?? null));
    }
  }
}
