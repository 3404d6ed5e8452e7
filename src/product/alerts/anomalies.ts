import { firstIdAt } from '../../catalog/ids.ts';
import type { Query } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import { countPatientReads, export_actions } from '../disclosures/disclosures.ts';
import type { AlertCode } from './catalogue.ts';

type Finding = { subject: string; summary: string; page: string; client_id?: string; count?: number };
type Find = (sql: Query, queues: unknown, ctx: Pick<Context, 'config'>) => Promise<Finding[]>;

const new_network_hours = 24;
/** Outcomes of sign-ins that were not refused. */
const accepted_sign_ins = ['signed in', 'created', 'linked', 'identity confirmed'];
/** What the request log says about requests with wrong credentials. Missing ones are no guess. */
const credential_codes = ['client_credentials_invalid', 'client_secret_expired', 'access_token_invalid'];

/** When the alerts about unusual access are open: each has a setting with the number that is unusual. */
export const anomalies = {
  many_patients_read: async (sql, _queues, { config }) => {
    const most = config.alert_patients_per_hour;
    if (most === 0) return [];
    const reads = (await countPatientReads(sql)).filter(({ patients }) => patients >= most);
    const clients = await sql<{ id: string }[]>`
      SELECT id FROM clients WHERE id = ANY (${reads.map(({ client_id }) => client_id)}::uuid[])`;
    const known = new Set(clients.map(({ id }) => id));
    return reads
      .filter(({ client_id }) => known.has(client_id))
      .map(({ client_id, hour, patients }) => {
        const summary = `About ${patients} different patients were read in the hour from ${hour.slice(11, 16)} UTC on.`;
        return { subject: client_id, client_id, summary, page: '/audit', count: patients };
      });
  },

  many_reveals: async (sql, _queues, { config }) => {
    const actors = await findBusyActors(sql, ['dashboard.reveals.create'], config.alert_reveals_per_hour);
    return actors.map(({ actor, count }) => ({
      subject: actor,
      count,
      summary: `${actor} revealed patient details ${count} times in the last hour.`,
      page: `/audit?${new URLSearchParams({ action: 'dashboard.reveals.create', actor })}`,
    }));
  },

  many_exports: async (sql, _queues, { config }) => {
    const actors = await findBusyActors(sql, export_actions, config.alert_exports_per_hour);
    return actors.map(({ actor, count }) => ({
      subject: actor,
      count,
      summary: `${actor} exported ${count} files in the last hour.`,
      page: `/audit?${new URLSearchParams({ actor })}`,
    }));
  },

  new_sign_in_network: async (sql, _queues, { config }) => {
    // Without days, no network of the past is new again.
    if (config.alert_new_network_days === 0) return [];
    const rows = await sql<{ id: string; email: string; network: string }[]>`
      SELECT operators.id, email, network FROM operator_networks AS used JOIN operators ON operators.id = operator_id
       WHERE new_at > now() - make_interval(hours => ${new_network_hours})
         -- Not the first sign-in.
         AND EXISTS (SELECT FROM operator_networks AS earlier
                      WHERE earlier.operator_id = used.operator_id AND earlier.new_at < used.new_at)
       ORDER BY operators.id, network`;
    return rows.map(({ id, email, network }) => ({
      subject: `${id} ${network}`,
      summary: `${email} signed in from the network ${network}.`,
      page: `/audit?${new URLSearchParams({ action: 'operator.sign_in', actor: email })}`,
    }));
  },

  sign_ins_refused: async (sql, _queues, { config }) => {
    if (config.alert_refused_sign_ins === 0) return [];
    const [row] = await sql<{ count: number; addresses: number }[]>`
      SELECT count(*)::int AS count, count(DISTINCT address)::int AS addresses FROM audit_records
       WHERE action = 'operator.sign_in' AND outcome <> ALL (${accepted_sign_ins}) AND id >= ${firstIdAt(hourAgo())}`;
    const { count = 0, addresses = 0 } = row ?? {};
    if (count < config.alert_refused_sign_ins) return [];
    const from = addresses === 1 ? '1 address' : `${addresses} addresses`;
    const summary = `${count} sign-ins of operators were refused in the last hour, from ${from}.`;
    return [{ subject: 'operators', count, summary, page: '/audit?action=operator.sign_in' }];
  },

  credentials_refused: async (sql, _queues, { config }) => {
    if (config.alert_refused_credentials === 0) return [];
    const [row] = await sql<{ count: number }[]>`
      SELECT count(*)::int AS count FROM requests
       WHERE client_id IS NULL AND id >= ${firstIdAt(hourAgo())} AND status >= 400
         AND code = ANY (${credential_codes})`;
    const count = row?.count ?? 0;
    if (count < config.alert_refused_credentials) return [];
    const summary = `${count} API requests with invalid credentials were refused in the last hour.`;
    return [{ subject: 'api', count, summary, page: '/requests?status=failed' }];
  },
} satisfies Partial<Record<AlertCode, Find>>;

/** Actors with at least `most` of these actions in the last hour; none if it is 0. Denied ones do not count. */
function findBusyActors(
  sql: Query,
  actions: readonly string[],
  most: number,
): Promise<{ actor: string; count: number }[]> {
  if (most === 0) return Promise.resolve([]);
  return sql<{ actor: string; count: number }[]>`
    SELECT actor, count(*)::int AS count FROM audit_records
     WHERE action = ANY (${[...actions]}::text[]) AND id >= ${firstIdAt(hourAgo())} AND outcome IN ('200', 'ok')
     GROUP BY actor HAVING count(*) >= ${most} ORDER BY actor`;
}

function hourAgo(): Date {
  return new Date(Date.now() - 3_600_000);
}
