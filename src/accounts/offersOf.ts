import type { OperationName } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Account } from './accounts.ts';
import { connectorOf } from './openAccount.ts';

/** What can be asked of the EMR behind an account: what its connector knows, less what this very server lacks. */
export function offersOf(ctx: Context, account: Pick<Account, 'connector' | 'offers'>): readonly OperationName[] {
  const { capabilities } = connectorOf(ctx, account.connector);
  const found = account.offers;
  return found === null ? capabilities : capabilities.filter((name) => found.includes(name));
}
