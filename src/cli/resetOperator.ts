import { resetOperator } from '../clients/createOperator.ts';
import { findOperator } from '../clients/operators.ts';
import type { Config } from '../config.ts';
import { StartFailure } from '../errors.ts';
import { command_line, withAudit } from './withAudit.ts';

/** For the owner whom nobody else can let in again. */
export async function resetOperatorCommand(config: Config, email: string | undefined): Promise<void> {
  if (!email) throw new StartFailure('Whose password? chartwire operators reset --email owner@example.org');
  const password = await withAudit(config, async (db, audit) => {
    const known = await findOperator(db.system, email.toLowerCase());
    const entry = { client_id: null, ...command_line, action: 'operator.reset', outcome: 'reset' } as const;
    const reset =
      known &&
      (await resetOperator({ db }, known.id, (tx, subject) => audit.recordInTransaction(tx, { ...entry, subject })));
    if (!reset) throw new StartFailure(`No active operator has the e-mail address '${email}'.`);
    return reset;
  });
  process.stdout.write(`password ${password}\n\nIt is not shown again. Sign in at the dashboard and change it.\n`);
}
