import type { OperationName } from '../connectors/connector.ts';
import type { Context } from '../context.ts';
import type { Account } from './accounts.ts';
import { connectorOf } from './openAccount.ts';

/** The operations available for an account: those of its connector, minus those its server lacks. */
export function offersOf(ctx: Context, account: Pick<Account, 'connector' | 'offers'>): readonly OperationName[] {
  const { capabilities } = connectorOf(ctx, account.connector);
  const found = account.offers;
  return found === null ? capabilities : capabilities.filter((name) => found.includes(name));
}
