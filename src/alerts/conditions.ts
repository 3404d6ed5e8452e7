import type { Query } from '../db/database.ts';
import type { QueueDepth } from '../jobs/queueDepth.ts';
import { type AlertCode, alert_codes } from './catalogue.ts';

/** A problem that exists now. `subject` identifies it among those with the same code. */
export type Problem = {
  code: AlertCode;
  subject: string;
  client_id: string | null;
  organization_id: string | null;
  /** Ids and counts, never health data: it is sent by email. */
  summary: string;
  /** Below `/dashboard`. */
  page: string;
  count: number;
};

/** Every current problem of all clients and of the installation. */
export async function findProblems(sql: Query, queues: QueueDepth): Promise<Problem[]> {
  const found: Problem[] = [];
  for (const code of alert_codes) {
    for (const problem of await conditions[code](sql, queues)) found.push({ ...of_installation, ...problem, code });
  }
  return found;
}

type Found = Pick<Problem, 'subject' | 'summary' | 'page'> & Partial<Omit<Problem, 'code'>>;

const of_installation = { client_id: null, organization_id: null, count: 1 };

/** Longer than the pause between two attempts of a job or a delivery that is retried soon. */
const stalled_s = 300;
const old_transaction_s = 900;
const failing_minutes = 60;

/** When each alert is open. Reads only columns that the system role may read across tenants. */
const conditions: Record<AlertCode, (sql: Query, queues: QueueDepth) => Promise<Found[]>> = {
  jobs_need_review: async (sql) => {
    const rows = await sql<(OfClient & { count: number })[]>`
      SELECT jobs.client_id, clients.public_id, clients.name, count(*)::int AS count
        FROM jobs JOIN clients ON clients.id = jobs.client_id
       WHERE state = 'needs_review' AND review_outcome IS NULL
       GROUP BY jobs.client_id, clients.public_id, clients.name ORDER BY jobs.client_id`;
    return rows.map(({ client_id, public_id, name, count }) => ({
      subject: client_id,
      client_id,
      count,
      summary: `${name}: ${count === 1 ? '1 job has' : `${count} jobs have`} an unknown outcome.`,
      page: `/clients/${public_id}/jobs?state=unresolved`,
    }));
  },

  queue_stalled: async (_sql, { job_lag, delivery_lag }) => {
    const lags = [
      { subject: 'jobs', lag_s: job_lag, what: 'A job' },
      { subject: 'deliveries', lag_s: delivery_lag, what: 'A webhook' },
    ];
    return lags
      .filter(({ lag_s }) => lag_s > stalled_s)
      .map(({ subject, lag_s, what }) => ({
        subject,
        summary: `${what} that could run has waited for ${Math.floor(lag_s / 60)} minutes.`,
        page: '/',
      }));
  },

  audit_verification_failed: async (sql) => {
    // The newest of each is found by its index. A later verification without faults, or an accepted restore, ends it.
    const [last] = await sql<{ action: string; outcome: string }[]>`
      SELECT last.action, last.outcome FROM unnest(ARRAY['audit.verify', 'audit.anchor', 'audit.reanchor']) AS kind (action)
        CROSS JOIN LATERAL (SELECT id, action, outcome FROM audit_records
          WHERE action = kind.action AND actor_kind = 'system' ORDER BY id DESC LIMIT 1) AS last
       ORDER BY last.id DESC LIMIT 1`;
    if (last === undefined || ['ok', 'accepted'].includes(last.outcome)) return [];
    const check = last.action === 'audit.anchor' ? 'does not match its anchor' : 'failed its verification';
    return [{ subject: 'audit', summary: `The audit log ${check}.`, page: '/audit' }];
  },

  emr_endpoint_changed: async (sql) => {
    const rows = await sql<(OfOrganization & { id: string; user_id: string; unexpected_endpoint: string })[]>`
      SELECT accounts.id, accounts.user_id, accounts.client_id, accounts.organization_id, unexpected_endpoint, org_id,
             clients.public_id, clients.name
        FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
             JOIN clients ON clients.id = accounts.client_id
       WHERE accounts.unexpected_endpoint IS NOT NULL AND accounts.status <> 'revoked' ORDER BY accounts.id`;
    return rows.map(({ id, user_id, client_id, organization_id, unexpected_endpoint, org_id, public_id, name }) => ({
      subject: id,
      client_id,
      organization_id,
      summary: `${name}: the EMR of account ${user_id} of practice ${org_id} now names ${unexpected_endpoint}.`,
      page: `/clients/${public_id}/accounts`,
    }));
  },

  endpoint_failing: async (sql) => {
    const rows = await sql<(OfClient & { id: string; status: 'enabled' | 'disabled' })[]>`
      SELECT endpoint.id, endpoint.status, endpoint.client_id, clients.public_id, clients.name
        FROM webhook_endpoints AS endpoint JOIN clients ON clients.id = endpoint.client_id
       WHERE failing_since IS NOT NULL
         AND (status = 'disabled' OR failing_since <= now() - make_interval(mins => ${failing_minutes}))
       ORDER BY endpoint.id`;
    return rows.map(({ id, status, client_id, public_id, name }) => ({
      subject: id,
      client_id,
      summary: `${name}: endpoint ${id} ${status === 'disabled' ? 'was disabled after failures' : 'has been failing for an hour'}.`,
      page: `/clients/${public_id}/events/endpoints/${id}`,
    }));
  },

  account_login_required: async (sql) => {
    const rows = await sql<(OfOrganization & { id: string; user_id: string })[]>`
      SELECT accounts.id, accounts.user_id, accounts.client_id, accounts.organization_id, org_id, clients.public_id,
             clients.name
        FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
             JOIN clients ON clients.id = accounts.client_id
       WHERE accounts.status = 'login_required' ORDER BY accounts.id`;
    return rows.map(({ id, user_id, client_id, organization_id, org_id, public_id, name }) => ({
      subject: id,
      client_id,
      organization_id,
      summary: `${name}: account ${user_id} of practice ${org_id}.`,
      page: `/clients/${public_id}/accounts`,
    }));
  },

  sync_held_back: async (sql) => {
    const rows = await sql<(OfOrganization & { kind: string; stored: number; missing: number })[]>`
      SELECT kind, held_stored AS stored, held_missing AS missing, pass.client_id, pass.organization_id, org_id,
             clients.public_id, clients.name
        FROM sync_passes AS pass JOIN organizations ON organizations.id = pass.organization_id
             JOIN clients ON clients.id = pass.client_id
       WHERE held_at IS NOT NULL AND NOT removal_confirmed ORDER BY pass.organization_id, kind`;
    return rows.map(({ kind, stored, missing, client_id, organization_id, org_id, public_id, name }) => ({
      subject: `${organization_id} ${kind}`,
      client_id,
      organization_id,
      summary: `${name}: the EMR of practice ${org_id} no longer lists ${missing} of ${stored} ${kind.replaceAll('_', ' ')}.`,
      page: `/clients/${public_id}/accounts`,
    }));
  },

  old_transaction: async (_sql, { oldest_transaction }) => {
    if (oldest_transaction <= old_transaction_s) return [];
    const summary = `A transaction has been open for ${Math.floor(oldest_transaction / 60)} minutes.`;
    return [{ subject: 'database', summary, page: '/settings/alerts' }];
  },
};

type OfClient = { client_id: string; public_id: string; name: string };
type OfOrganization = OfClient & { organization_id: string; org_id: string };
