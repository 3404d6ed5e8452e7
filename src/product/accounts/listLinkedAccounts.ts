import type { Context } from '../context.ts';
import type { LinkedAccount } from '../../model/activity.ts';
import { connectorOf } from './openAccount.ts';

/** A client's linked accounts, oldest first, or only the given one. */
export async function listLinkedAccounts(
  ctx: Context,
  client_id: string,
  account_id: string | undefined,
): Promise<LinkedAccount[]> {
  const rows = await ctx.db.search<Omit<LinkedAccount, 'emr_name'>>(
    client_id,
    (sql) => sql`
      SELECT account.reference_id AS access_token_reference_id, account.user_id, organization.org_id,
             organization.connector AS emr, account.status, iso(account.linked_at) AS linked_at,
             (SELECT json_build_object('job_id', job.id, 'status', job.state,
                       'at', iso(coalesce(job.finished_at, job.started_at, job.created_at)))
                FROM jobs AS job WHERE job.organization_id = organization.id AND job.type = 'sync'
               ORDER BY job.id DESC LIMIT 1) AS last_sync,
             (SELECT count(*) FROM jobs WHERE jobs.account_id = account.id AND jobs.parked
                 AND jobs.state = 'queued') AS waiting_jobs
        FROM accounts AS account JOIN organizations AS organization ON organization.id = account.organization_id
       ${account_id === undefined ? sql`` : sql`WHERE account.id = ${account_id}`}
       ORDER BY account.linked_at, account.id`,
  );
  return rows.map((row) => ({ ...row, emr_name: connectorOf(ctx, row.emr).display_name }));
}
