import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What Prometheus may ask. Labels are names from our own tables, never ids, paths with values, or health data. */
export type Metrics = ReturnType<typeof openMetrics>;

export function openMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    requests: new Histogram({
      name: 'chartwire_http_request_seconds',
      help: 'Time to answer a request, by endpoint and status.',
      labelNames: ['endpoint', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [registry],
    }),
    jobs: new Histogram({
      name: 'chartwire_job_seconds',
      help: 'Time from the acceptance of a job to its end, by type and final state.',
      labelNames: ['type', 'state'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
      registers: [registry],
    }),
    job_retries: new Counter({
      name: 'chartwire_job_retries_total',
      help: 'Tries of jobs that ended in another try, by type and kind of failure.',
      labelNames: ['type', 'kind'],
      registers: [registry],
    }),
    deliveries: new Histogram({
      name: 'chartwire_delivery_seconds',
      help: 'Time of one delivery try, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers: [registry],
    }),
    requests_unlogged: new Counter({
      name: 'chartwire_requests_unlogged_total',
      help: 'Answered requests that the log of requests does not hold: it could not keep up, or strangers sent too many.',
      registers: [registry],
    }),
    waiting: new Gauge({
      name: 'chartwire_waiting',
      help: 'Work that waits: jobs queued, jobs parked for a login, deliveries pending.',
      labelNames: ['queue'],
      registers: [registry],
    }),
    lag: new Gauge({
      name: 'chartwire_waiting_oldest_seconds',
      help: 'How long the oldest ready work has been waiting.',
      labelNames: ['queue'],
      registers: [registry],
    }),
  };
}
