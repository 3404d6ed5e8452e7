import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/**
 * The metrics at /metrics. Labels are names from our own catalogs, never paths with values or health data. The only id
 * is the reference of an account whose EMR does not respond.
 */
export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return {
    registry,
    requests: new Histogram({
      name: 'chartwire_http_request_seconds',
      help: 'Duration of requests, by endpoint and status.',
      labelNames: ['endpoint', 'status'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
      registers: [registry],
    }),
    jobs: new Histogram({
      name: 'chartwire_job_seconds',
      help: 'Time from accepting a job to finishing it, by type and final state.',
      labelNames: ['type', 'state'],
      buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3600],
      registers: [registry],
    }),
    job_retries: new Counter({
      name: 'chartwire_job_retries_total',
      help: 'Job attempts that will be retried, by type and kind of failure.',
      labelNames: ['type', 'kind'],
      registers: [registry],
    }),
    deliveries: new Histogram({
      name: 'chartwire_delivery_seconds',
      help: 'Duration of delivery attempts, by outcome.',
      labelNames: ['outcome'],
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
      registers: [registry],
    }),
    requests_unlogged: new Counter({
      name: 'chartwire_requests_unlogged_total',
      help: 'Requests missing from the request log, because it could not keep up or too many were unauthenticated.',
      registers: [registry],
    }),
    refused_origins: new Counter({
      name: 'chartwire_refused_origins_total',
      help: 'Requests refused because of the network they came from or their client certificate, by error code.',
      labelNames: ['code'],
      registers: [registry],
    }),
    audit_intact: new Gauge({
      name: 'chartwire_audit_intact',
      help: '1 if the audit log passed its last check, 0 if it was tampered with: anchor (every second), chain (all of it).',
      labelNames: ['check'],
      registers: [registry],
    }),
    jobs_repaired: new Counter({
      name: 'chartwire_jobs_repaired_total',
      help: 'Unfinished jobs that no worker would have started, returned to their queue. Expected to stay 0.',
      registers: [registry],
    }),
    emr_requests: new Counter({
      name: 'chartwire_emr_requests_total',
      help: 'Requests to EMRs of linked accounts, by connector.',
      labelNames: ['emr'],
      registers: [registry],
    }),
    removals_held_back: new Counter({
      name: 'chartwire_removals_held_back_total',
      help: 'Full reads of a list that were missing too many records to be applied, by record kind.',
      labelNames: ['kind'],
      registers: [registry],
    }),
    oldest_transaction: new Gauge({
      name: 'chartwire_oldest_transaction_seconds',
      help: 'Age of the oldest open transaction in the database. PostgreSQL cannot remove dead rows newer than it.',
      registers: [registry],
    }),
    waiting: new Gauge({
      name: 'chartwire_waiting',
      help: 'Waiting work: queued jobs, jobs that wait for another attempt (also counted as queued), parked jobs, pending deliveries, audit records that the collector does not have (only if one is configured).',
      labelNames: ['queue'],
      registers: [registry],
    }),
    lag: new Gauge({
      name: 'chartwire_waiting_oldest_seconds',
      help: 'Age of the oldest work that is ready, in seconds. Retried: time since the first failed attempt. Changes: age of the oldest that the change feed does not show yet. Audit collector: age of the oldest record that was not sent.',
      labelNames: ['queue'],
      registers: [registry],
    }),
    workers: new Gauge({
      name: 'chartwire_workers',
      help: 'Processes that run jobs and deliveries and were seen in the last 30 seconds.',
      registers: [registry],
    }),
    emr_unreachable: new Gauge({
      name: 'chartwire_emr_unreachable_seconds',
      help: 'Time since an EMR last responded to an account, by connector and reference of the account. No series if all respond.',
      labelNames: ['emr', 'account'],
      registers: [registry],
    }),
    endpoints_failing: new Gauge({
      name: 'chartwire_endpoints_failing',
      help: 'Enabled webhook endpoints whose latest delivery attempts all failed.',
      registers: [registry],
    }),
    key_unwraps: new Counter({
      name: 'chartwire_key_unwraps_total',
      help: 'Data keys that this process unwrapped with a master key, by purpose. Keys in memory are not unwrapped again.',
      labelNames: ['purpose'],
      registers: [registry],
    }),
    alerts_open: new Gauge({
      name: 'chartwire_alerts_open',
      help: 'Open alerts, by code. No series if there are none.',
      labelNames: ['code'],
      registers: [registry],
    }),
    database_writable: new Gauge({
      name: 'chartwire_database_writable',
      help: '1 if the last heartbeat of this process could be stored, 0 if not: full or read-only disk, lost connection.',
      registers: [registry],
    }),
  };
}
