import type { Operator } from '../../clients/operators.ts';
import type { Context } from '../../context.ts';
import { csrfTokenOf } from '../../http/authenticateOperator.ts';
import type { Session } from '../../model/dashboard/session.ts';
import { version } from '../../version.ts';

/** What the page knows of who is signed in. */
export function describeSession(ctx: Context, token: string, operator: Operator): Session {
  return { operator, csrf_token: csrfTokenOf(token), sandbox: ctx.config.sandbox, version };
}
