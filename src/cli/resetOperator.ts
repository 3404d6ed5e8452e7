import type { Config } from '../config.ts';
import { StartFailure } from '../errors.ts';
import { resetOperator } from '../operators/createOperator.ts';
import { findOperator } from '../operators/operators.ts';
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
  const password = await withAudit(config, async (db, audit) => {
    const operator = await findOperator(db.system, email.toLowerCase());
    const entry = { client_id: null, ...command_line, action: 'operator.reset', outcome: 'reset' } as const;
    const reset =
      operator &&
      (await resetOperator({ db }, operator.id, (tx, subject) => audit.recordInTransaction(tx, { ...entry, subject })));
    if (!reset) throw new StartFailure(`There is no active operator with the email address '${email}'.`);
    return reset;
  });
  printResult(
    output,
    { email, password },
    `password ${password}\n\nThe password is not shown again. Sign in to the dashboard and change it.\n`,
  );
}
