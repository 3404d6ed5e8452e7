import type { TestSandbox } from '../../harness/sandbox.ts';
import { setFault } from '../../journeys/journey.ts';

/**
 * Lets every sync wait at the first list it would read, or before another one. Each link queues a sync of thousands of
 * records; where the links are the point, nobody needs to wait for them.
 */
export function quietSyncs({ api }: TestSandbox, before = 'list_facilities'): Promise<void> {
  return setFault(api, before, 'error_500', { times: 100_000 });
}
