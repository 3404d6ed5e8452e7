import type { LoggedRequest } from '../context.ts';
import type { Sql } from '../db/database.ts';

export async function insertRequests(system: Sql, requests: readonly LoggedRequest[]): Promise<void> {
  // The id holds the time at which the request came.
  const told = requests.map((each) => ({ ...each, at: new Date(Number.parseInt(each.id.slice(0, 12), 16)) }));
  await system`
    INSERT INTO requests (id, at, client_id, account_id, endpoint, method, status, duration_ms, code)
    SELECT id, at, client_id, account_id, endpoint, method, status, duration_ms, code
      FROM json_to_recordset(${JSON.stringify(told)}::text::json) AS told (id uuid, at timestamptz, client_id uuid,
             account_id uuid, endpoint text, method text, status integer, duration_ms integer, code text)
    ON CONFLICT DO NOTHING`;
}

/** Deletes what is past its days, a batch per statement. */
export async function purgeRequests(system: Sql, days: number, batch = 10_000): Promise<number> {
  let total = 0;
  for (let deleted = batch; deleted === batch; total += deleted) {
    const gone = await system`
      DELETE FROM requests WHERE id IN (
        SELECT id FROM requests WHERE at < now() - make_interval(days => ${days}) ORDER BY id LIMIT ${batch})`;
    deleted = gone.count;
  }
  return total;
}
