import type { TestSandbox } from '../../harness/sandbox.ts';
import { setFault } from '../../journeys/support.ts';

/**
 * Makes every sync wait before it reads `list`. Each new link queues a sync of hundreds of records, which tests about
 * linking do not need.
 */
export function pauseSyncs({ api }: TestSandbox, list = 'list_facilities'): Promise<void> {
  return setFault(api, list, 'error_500', { times: 100_000 });
}
