import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { resetOperator } from '../../product/operators/localAccounts.ts';
import { findOperator } from '../../product/operators/operators.ts';
import { type JsonOption, printResult } from './output.ts';
import { command_line, withAudit } from './withAudit.ts';

/** Resets an operator's password when no other owner can do it in the dashboard. */
export async function resetOperatorCommand(
  config: Config,
  email: string | undefined,
  output: JsonOption = {},
): Promise<void> {
  if (!email)
    throw new StartFailure('An email address is required: chartwire operators reset --email owner@example.org');
  const { password, for_an_hour } = await withAudit(config, async (db, audit) => {
    const operator = await findOperator(db.system, email.toLowerCase());
    const entry = { client_id: null, ...command_line, action: 'operator.reset', outcome: 'reset' } as const;
    const reset =
      operator &&
      (await resetOperator({ db }, operator.id, (tx, subject) => audit.recordInTransaction(tx, { ...entry, subject }), {
        despite_single_sign_on: true,
      }));
    if (!reset) throw new StartFailure(`There is no active operator with the email address '${email}'.`);
    // Ends the operator's live streams in running processes.
    await db.system`SELECT pg_notify('chartwire_operators', ${operator.id})`;
    return { password: reset, for_an_hour: config.oidc_only || operator.single_sign_on };
  });
  const advice = for_an_hour
    ? 'Sign in to the dashboard within one hour; later, only single sign-on is accepted.'
    : 'Sign in to the dashboard within 72 hours and change it.';
  printResult(output, { email, password }, `password ${password}\n\nThe password is not shown again. ${advice}\n`);
}
