import type { TestSandbox } from '../harness/sandbox.ts';
import { setFault } from '../journeys/journey.ts';

/** Lets every sync that a link queues wait at its first step, where the links are the point and thousands of records are not. */
export function quietSyncs({ api }: TestSandbox): Promise<void> {
  return setFault(api, 'list_facilities', 'error_500', { times: 100_000 });
}
