import { type FourEyesAction, four_eyes_actions } from '../../catalog/fourEyes.ts';
import { firstIdAt, timeOfId } from '../../catalog/ids.ts';
import type { Fragment, Query } from '../../platform/db/database.ts';
import { formatDestination } from '../../platform/security/outbound.ts';
import { hashToken } from '../../platform/security/signatures.ts';
import { createStamp, findLastRecord, findUnsealed } from '../audit/auditRecords.ts';
import type { Context } from '../context.ts';
import { listScannerFailures } from '../jobs/documentScan.ts';
import { isRetrying } from '../jobs/listJobs.ts';
import type { QueueDepth } from '../jobs/queueDepth.ts';
import { listAllFailedLinks } from '../link/connectionReports.ts';
import { listAllStalledSyncs } from '../records/stalledSyncs.ts';
import { readDestinations } from '../webhooks/endpoints.ts';
import { anomalies } from './anomalies.ts';
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

/** Every current problem of all clients and of the installation. The client is named if there are several. */
export async function findProblems(sql: Query, queues: QueueDepth, ctx: AlertContext): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const code of alert_codes) {
    for (const problem of await conditions[code](sql, queues, ctx))
      problems.push({ ...of_installation, ...problem, code });
  }
  const clients = await sql<{ id: string; name: string }[]>`SELECT id, name FROM clients`;
  if (clients.length < 2) return problems;
  const names = new Map(clients.map(({ id, name }) => [id, name]));
  return problems.map((problem) => {
    const name = names.get(problem.client_id ?? '');
    return name === undefined ? problem : { ...problem, summary: `${problem.summary} Client: ${name}.` };
  });
}

type AlertContext = Pick<Context, 'config' | 'db' | 'system_keys'>;
type Finding = Pick<Problem, 'subject' | 'summary' | 'page'> & Partial<Omit<Problem, 'code'>>;

const of_installation = { client_id: null, organization_id: null, count: 1 };

/** Longer than the pause between two attempts of a job or a delivery that is retried soon. */
const stalled_s = 300;
const feed_stalled_s = 60;
/** Longer than a restart of clamd, which reads its signatures first. */
const scanner_failing_s = 60;
const old_transaction_s = 900;
/** Longer than it takes to restart an EMR or a receiver; a job is then at its eighth attempt, a webhook at its third. */
const failing_s = 300;
/** Longer than it takes to restart the only worker. */
const without_workers_s = 60;

const destination_hours = 24;
/** Not `account.link`: the first link of a practice is a new address too, which the link was created for. */
const destination_actions = [
  'webhook.create',
  'dashboard.webhooks.create',
  'dashboard.webhooks.update',
  'dashboard.receiver.create',
  'client.create',
  'dashboard.clients.update',
  'emr_app.add',
  'dashboard.emr-apps.create',
  'dashboard.emr-apps.update',
];
const destination_labels: Record<string, string> = {
  webhook: 'Webhook URL',
  callback_url: 'Callback URL',
  frame_origin: 'Frame origin',
  emr_app: 'EMR app for',
};
const new_owner_hours = 24;
/** An expired secret is no longer a problem when nobody has replaced it for as long. */
const expiring_days = 14;
/** Issuing a certificate takes people longer than creating a secret. */
const certificate_days = 30;

/** When each alert is open. Reads only columns that the system role may read across tenants. */
const conditions: Record<AlertCode, (sql: Query, queues: QueueDepth, ctx: AlertContext) => Promise<Finding[]>> = {
  jobs_need_review: async (sql) => {
    const rows = await sql<(OfClient & { count: number })[]>`
      SELECT jobs.client_id, clients.public_id, count(*)::int AS count
        FROM jobs JOIN clients ON clients.id = jobs.client_id
       WHERE state = 'needs_review' AND review_outcome IS NULL
       GROUP BY jobs.client_id, clients.public_id ORDER BY jobs.client_id`;
    return rows.map(({ client_id, public_id, count }) => ({
      subject: client_id,
      client_id,
      count,
      summary: `${count === 1 ? '1 job has' : `${count} jobs have`} an unknown outcome.`,
      page: `/clients/${public_id}/jobs?state=unresolved`,
    }));
  },

  emr_unreachable: async (sql) => {
    const rows = await sql<(OfOrganization & { jobs: number; minutes: number })[]>`
      SELECT outage.client_id, outage.organization_id, org_id, clients.public_id, retried.jobs,
             floor(extract(epoch FROM now() - least(outage.since, retried.since)) / 60)::int AS minutes
        FROM (SELECT accounts.client_id, accounts.organization_id, min(outage.since) AS since,
                     -- Not a single failure, after which the service was stopped.
                     bool_or(outage.last_failure_at >= outage.since + interval '1 minute') AS repeated
                FROM emr_outages AS outage JOIN accounts ON accounts.id = outage.account_id
               WHERE accounts.status = 'active' GROUP BY accounts.client_id, accounts.organization_id) AS outage
             JOIN organizations ON organizations.id = outage.organization_id
             JOIN clients ON clients.id = outage.client_id
             CROSS JOIN LATERAL (
               SELECT count(*)::int AS jobs, min(retry_since) AS since FROM jobs
                WHERE jobs.organization_id = outage.organization_id AND ${isRetrying(sql)}) AS retried
       WHERE (outage.repeated AND outage.since <= ${failingSince(sql)} OR retried.since <= ${failingSince(sql)})
         -- Without such a job, nobody waits for the EMR. An alert that is open stays open until the EMR responds.
         AND (retried.jobs > 0 OR EXISTS (SELECT FROM alerts WHERE code = 'emr_unreachable' AND resolved_at IS NULL
                AND alerts.organization_id = outage.organization_id))
       ORDER BY outage.organization_id`;
    return rows.map(({ client_id, organization_id, org_id, public_id, jobs, minutes }) => ({
      subject: organization_id,
      client_id,
      organization_id,
      summary: `The EMR of practice ${org_id} has not responded for ${minutes} minutes. ${jobs === 1 ? '1 job is' : `${jobs} jobs are`} being retried.`,
      page: `/clients/${public_id}/jobs?${new URLSearchParams({ state: 'retrying', organization_id: organization_id.replaceAll('-', '') })}`,
    }));
  },

  no_workers: async (sql) => {
    const [{ found: has_worker } = { found: false }] = await sql<{ found: boolean }[]>`
      SELECT EXISTS (SELECT FROM processes
        WHERE working AND seen_at > now() - make_interval(secs => ${without_workers_s})) AS found`;
    const summary = 'No process that runs jobs and webhooks was seen for a minute.';
    return has_worker ? [] : [{ subject: 'workers', summary, page: '/' }];
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

  change_feed_stalled: async (_sql, { change_lag }) => {
    if (change_lag <= feed_stalled_s) return [];
    const summary = `The change feed has not shown a change for ${Math.floor(change_lag)} seconds.`;
    return [{ subject: 'changes', summary, page: '/' }];
  },

  audit_verification_failed: async (sql, _queues, { system_keys }) => {
    // A later verification without faults, or an accepted restore, ends it, unless someone forged or changed its record.
    const last = await findLastRecord(sql, { actions: ['audit.verify', 'audit.anchor', 'audit.reanchor'] });
    if (last === undefined) return [];
    const genuine = createStamp(system_keys).isGenuine(last);
    if (genuine && ['ok', 'accepted'].includes(last.outcome)) return [];
    const check = genuine && last.action === 'audit.anchor' ? 'does not match its anchor' : 'failed its verification';
    return [{ subject: 'audit', summary: `The audit log ${check}.`, page: '/audit' }];
  },

  audit_sealing_stalled: async (sql) => {
    const [oldest] = await findUnsealed(sql, 1);
    const age_s = oldest === undefined ? 0 : (Date.now() - timeOfId(oldest.id)) / 1000;
    if (age_s <= stalled_s) return [];
    const summary = `The oldest audit record outside of the chain is ${Math.floor(age_s / 60)} minutes old.`;
    return [{ subject: 'audit', summary, page: '/audit' }];
  },

  audit_collector_lagging: async (_sql, { collector }, { config }) => {
    const { waiting, lag_s, accepted_s, failure } = collector;
    if (!config.audit_collector_url || lag_s <= stalled_s) return [];
    // It is catching up, for example with the log from before it was configured.
    if (failure === null && accepted_s !== null && accepted_s <= stalled_s) return [];
    const minutes = Math.floor(lag_s / 60);
    const reason = failure === null ? '' : ` ${failure}`;
    const summary = `${waiting} audit records wait for the collector, the oldest for ${minutes} minutes.${reason}`;
    return [{ subject: 'audit_collector', summary, page: '/audit' }];
  },

  scanner_unavailable: async (sql) => {
    const failures = await listScannerFailures(sql);
    return failures
      .filter(({ age_s }) => age_s > scanner_failing_s)
      .map(({ problem, failure, age_s }) => {
        const minutes = Math.floor(age_s / 60);
        const time = minutes === 1 ? 'a minute' : `${minutes} minutes`;
        return { subject: problem, summary: `Documents have not been scanned for ${time}. ${failure}`, page: '/' };
      });
  },

  owner_added: async (sql) => {
    const rows = await sql<{ id: string; email: string }[]>`
      SELECT id, email FROM operators
       WHERE owner_since > now() - make_interval(hours => ${new_owner_hours}) AND role = 'owner' ORDER BY id`;
    return rows.map(({ id, email }) => ({
      subject: id,
      summary: `${email} became an owner.`,
      page: '/settings/operators',
    }));
  },

  approval_waiting: async (sql) => {
    const rows = await sql<{ id: string; action: FourEyesAction; email: string }[]>`
      SELECT approvals.id, action, email FROM approvals JOIN operators ON operators.id = requester_id
       WHERE state = 'pending' AND expires_at > now() ORDER BY approvals.id`;
    return rows.map(({ id, action, email }) => ({
      subject: id,
      summary: `${email} has requested ${four_eyes_actions[action].label}.`,
      page: '/approvals',
    }));
  },

  emr_endpoint_changed: async (sql) => {
    const rows = await sql<(OfOrganization & { id: string; user_id: string; unexpected_endpoint: string })[]>`
      SELECT accounts.id, accounts.user_id, accounts.client_id, accounts.organization_id, unexpected_endpoint, org_id,
             clients.public_id
        FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
             JOIN clients ON clients.id = accounts.client_id
       WHERE accounts.unexpected_endpoint IS NOT NULL AND accounts.status <> 'revoked' ORDER BY accounts.id`;
    return rows.map(({ id, user_id, client_id, organization_id, unexpected_endpoint, org_id, public_id }) => ({
      subject: id,
      client_id,
      organization_id,
      summary: `The EMR of account ${user_id} of practice ${org_id} now names ${unexpected_endpoint}.`,
      page: `/clients/${public_id}/accounts`,
    }));
  },

  endpoint_failing: async (sql, _queues, { db }) => {
    const rows = await sql<(OfClient & { id: string; status: 'enabled' | 'disabled' })[]>`
      SELECT endpoint.id, endpoint.status, endpoint.client_id, clients.public_id
        FROM webhook_endpoints AS endpoint JOIN clients ON clients.id = endpoint.client_id
       WHERE failing_since IS NOT NULL AND paused_at IS NULL
         AND (status = 'disabled' OR failing_since <= now() - make_interval(secs => ${failing_s}))
       ORDER BY endpoint.id`;
    const urls = await readDestinations(db, rows);
    return rows.map(({ id, status, client_id, public_id }) => ({
      subject: id,
      client_id,
      summary: `Endpoint ${urls.get(id) ?? id} ${status === 'disabled' ? 'was disabled after failures' : 'has been failing for five minutes'}.`,
      page: `/clients/${public_id}/events/endpoints/${id}`,
    }));
  },

  account_login_required: async (sql) => {
    const rows = await sql<(OfOrganization & { id: string; user_id: string })[]>`
      SELECT accounts.id, accounts.user_id, accounts.client_id, accounts.organization_id, org_id, clients.public_id
        FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
             JOIN clients ON clients.id = accounts.client_id
       WHERE accounts.status = 'login_required' ORDER BY accounts.id`;
    return rows.map(({ id, user_id, client_id, organization_id, org_id, public_id }) => ({
      subject: id,
      client_id,
      organization_id,
      summary: `Account ${user_id} of practice ${org_id}.`,
      page: `/clients/${public_id}/accounts?account=${id.replaceAll('-', '')}`,
    }));
  },

  link_failing: async (sql, _queues, { db }) => {
    const failed = await listAllFailedLinks(sql, db, failing_s);
    return failed.map(({ client_id, public_id, address, code, error_message, note, links, report_id }) => {
      const cause = note ?? error_message ?? 'the cause is in the connection report';
      return {
        subject: hashToken(JSON.stringify([client_id, address, code, cause])).toString('hex'),
        client_id,
        summary: `${links === 1 ? 'A link' : `${links} links`} to ${address} failed: ${cause.replace(/\.?$/, '.')}`,
        page: `/clients/${public_id}/accounts/reports/${report_id}`,
        count: links,
      };
    });
  },

  sync_failing: async (sql, _queues, { db }) => {
    const syncs = await listAllStalledSyncs(sql, db);
    return syncs.map(({ client_id, organization_id, org_id, public_id, job_id, failed }) => ({
      subject: organization_id,
      client_id,
      organization_id,
      summary: `The sync of practice ${org_id} ${failed ? 'failed' : 'has read nothing for half an hour'}.`,
      page: `/clients/${public_id}/jobs/${job_id}`,
    }));
  },

  sync_held_back: async (sql) => {
    const rows = await sql<(OfOrganization & { kind: string; stored: number; missing: number })[]>`
      SELECT kind, held_stored AS stored, held_missing AS missing, pass.client_id, pass.organization_id, org_id,
             clients.public_id
        FROM sync_passes AS pass JOIN organizations ON organizations.id = pass.organization_id
             JOIN clients ON clients.id = pass.client_id
       WHERE held_at IS NOT NULL AND NOT removal_confirmed ORDER BY pass.organization_id, kind`;
    return rows.map(({ kind, stored, missing, client_id, organization_id, org_id, public_id }) => ({
      subject: `${organization_id} ${kind}`,
      client_id,
      organization_id,
      summary: `The EMR of practice ${org_id} no longer lists ${missing} of ${stored} ${kind.replaceAll('_', ' ')}.`,
      page: `/clients/${public_id}/accounts`,
    }));
  },

  directory_failing: async (sql) => {
    const rows = await sql<{ id: string; name: string; failing: boolean; missing: number | null; stored: number }[]>`
      SELECT id, name, failing_since IS NOT NULL AS failing, held_missing AS missing, held_stored AS stored
        FROM directory_sources WHERE url IS NOT NULL AND (failing_since IS NOT NULL OR held_missing IS NOT NULL)
       ORDER BY id`;
    return rows.map(({ id, name, failing, missing, stored }) => ({
      subject: id,
      summary: failing
        ? `The list of practices at ${formatDestination(name)} could not be read.`
        : `The list of practices at ${formatDestination(name)} lacks ${missing} of ${stored} practices.`,
      page: '/',
    }));
  },

  secret_expiring: async (sql) => {
    const rows = await sql<(OfClient & { id: string; last_four: string; expired: boolean; expires_at: string })[]>`
      SELECT secret.id, last_four, expires_at <= now() AS expired, iso(expires_at) AS expires_at, secret.client_id,
             clients.public_id
        FROM client_secrets AS secret JOIN clients ON clients.id = secret.client_id
       WHERE revoked_at IS NULL AND expires_at BETWEEN now() - make_interval(days => ${expiring_days})
                                                   AND now() + make_interval(days => ${expiring_days})
         AND NOT EXISTS (SELECT FROM client_secrets AS newer
                          WHERE newer.client_id = secret.client_id AND newer.revoked_at IS NULL
                            AND newer.access = secret.access AND newer.org_id IS NOT DISTINCT FROM secret.org_id
                            AND newer.id > secret.id AND coalesce(newer.expires_at > secret.expires_at, true)
                            AND newer.last_used_at >= coalesce(secret.last_used_at, '-infinity'))
       ORDER BY secret.id`;
    return rows.map(({ id, last_four, expired, expires_at, client_id, public_id }) => ({
      subject: id,
      client_id,
      summary: `The secret that ends with ${last_four} ${expired ? 'expired' : 'expires'} on ${expires_at.slice(0, 10)}.`,
      page: `/settings/clients/${public_id}`,
    }));
  },

  certificate_expiring: async (sql, _queues, { db }) => {
    const rows = await sql<(OfClient & { id: string; app: string | null; expired: boolean; expires_at: string })[]>`
      SELECT holder.id, app, expires_at <= now() AS expired, iso(expires_at) AS expires_at, holder.client_id,
             clients.public_id
        FROM (SELECT id, NULL AS app, client_id, certificate_expires_at AS expires_at
                FROM webhook_endpoints WHERE status = 'enabled'
              UNION ALL
              SELECT id::text, name, client_id, certificate_expires_at FROM emr_apps) AS holder
             JOIN clients ON clients.id = holder.client_id
       WHERE expires_at <= now() + make_interval(days => ${certificate_days}) ORDER BY holder.id`;
    const urls = await readDestinations(
      db,
      rows.filter(({ app }) => app === null),
    );
    return rows.map(({ id, app, expired, expires_at, client_id, public_id }) => ({
      subject: `${id} ${expires_at}`,
      client_id,
      summary: `The certificate for ${app === null ? `endpoint ${urls.get(id) ?? id}` : `the EMR app ${app}`} ${expired ? 'expired' : 'expires'} on ${expires_at.slice(0, 10)}.`,
      page: app === null ? `/clients/${public_id}/events/endpoints/${id}` : `/settings/clients/${public_id}`,
    }));
  },

  destination_changed: async (sql, _queues, { config }) => {
    // In the sandbox, destinations are the developer's own and no patient is real.
    if (config.sandbox) return [];
    const since = new Date(Date.now() - destination_hours * 3_600_000);
    const rows = await sql<(OfClient & { id: string; kind: string; destination: string })[]>`
      SELECT record.id, change.kind, change.new AS destination, record.client_id
        FROM audit_records AS record
             CROSS JOIN LATERAL json_to_recordset(record.detail -> 'destinations') AS change (kind text, new text)
       WHERE action = ANY (${[...destination_actions]}) AND record.id >= ${firstIdAt(since)} AND change.new IS NOT NULL
       ORDER BY record.id`;
    return rows.map(({ id, kind, destination, client_id }) => ({
      subject: `${id} ${kind} ${destination}`,
      client_id,
      summary: `${destination_labels[kind] ?? kind} ${destination} was added.`,
      page: '/audit',
    }));
  },

  ...anomalies,

  old_transaction: async (_sql, { oldest_transaction }) => {
    if (oldest_transaction <= old_transaction_s) return [];
    const summary = `A transaction has been open for ${Math.floor(oldest_transaction / 60)} minutes.`;
    return [{ subject: 'database', summary, page: '/settings/alerts' }];
  },
};

function failingSince(sql: Query): Fragment {
  return sql`now() - make_interval(secs => ${failing_s})`;
}

type OfClient = { client_id: string; public_id: string };
type OfOrganization = OfClient & { organization_id: string; org_id: string };
