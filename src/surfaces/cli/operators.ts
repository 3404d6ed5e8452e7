import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { resetOperator } from '../../product/operators/localAccounts.ts';
import { enableOperator, findOperator } from '../../product/operators/operators.ts';
import { command_line, withAudit } from './audit.ts';
import { type JsonOption, printResult } from './output.ts';

/** Enables a disabled operator, for example if the only owner who could do it is disabled too. */
export async function enableOperatorCommand(
  config: Config,
  email: string | undefined,
  output: JsonOption = {},
): Promise<void> {
  if (!email)
    throw new StartFailure('An email address is required: chartwire operators enable --email owner@example.org');
  await withAudit(config, (db, audit) =>
    db.system.begin(async (tx) => {
      const subject = await enableOperator(tx, email);
      if (!subject) throw new StartFailure(`There is no disabled operator with the email address '${email}'.`);
      const entry = { client_id: null, ...command_line, action: 'operator.enable', outcome: 'enabled' } as const;
      await audit.recordInTransaction(tx, { ...entry, subject });
    }),
  );
  printResult(output, { email, enabled: true }, `${email} can sign in again.\n`);
}

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
      !operator.inactive &&
      (await resetOperator({ db }, operator.id, (tx, subject) => audit.recordInTransaction(tx, { ...entry, subject }), {
        despite_single_sign_on: true,
      }));
    if (!reset)
      throw new StartFailure(
        `There is no active operator with the email address '${email}'. To enable a disabled one: chartwire operators enable`,
      );
    // Ends the operator's live streams in running processes.
    await db.system`SELECT pg_notify('chartwire_operators', ${operator.id})`;
    return { password: reset, for_an_hour: config.oidc_only || operator.single_sign_on };
  });
  const advice = for_an_hour
    ? 'Sign in to the dashboard within one hour; later, only single sign-on is accepted.'
    : 'Sign in to the dashboard within 72 hours and change it.';
  printResult(output, { email, password }, `password ${password}\n\nThe password is not shown again. ${advice}\n`);
}
