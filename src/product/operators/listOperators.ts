import type { OperatorRow } from '../../model/dashboard/settings.ts';
import type { Context } from '../context.ts';
import { accessColumns } from './operatorAccess.ts';

export async function listOperators(ctx: Pick<Context, 'db'>): Promise<OperatorRow[]> {
  return ctx.db.system<OperatorRow[]>`
    SELECT id, email, name, ${accessColumns(ctx.db.system)},
           totp_sealed IS NOT NULL OR EXISTS (SELECT FROM operator_passkeys WHERE operator_id = operators.id)
             AS second_factor,
           disabled_at IS NOT NULL AS disabled, sso_subject IS NOT NULL AS single_sign_on,
           CASE WHEN sso_link_until > now() THEN iso(sso_link_until) END AS sso_link_until, iso(created_at) AS created_at,
           (SELECT iso(max(seen_at)) FROM operator_sessions WHERE operator_id = operators.id) AS seen_at
      FROM operators ORDER BY disabled_at IS NOT NULL, email`;
}
