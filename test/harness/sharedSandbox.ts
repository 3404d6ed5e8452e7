import { endPauses, until } from '../journeys/support.ts';
import { postponeSyncs, startSandbox, type TestSandbox } from './sandbox.ts';

/** After this many files a new one is started: lists that only grow would exceed the page sizes that tests read. */
const files_max = 15;

let started: Promise<TestSandbox> | undefined;
let files = 0;

/**
 * The small sandbox that the test files of one worker share, for tests that only read or that work on records of their
 * own. They must not depend on total counts, and must restore what they change for everyone (settings, provider hours).
 * Nothing closes it: the worker process ends with the run, and its databases go with the server.
 */
export async function sharedSandbox(): Promise<TestSandbox> {
  if (files === files_max) {
    await (await started)?.close();
    started = undefined;
    files = 0;
  }
  files += 1;
  started ??= startSandbox({ small: true });
  const fixture = await started;
  await reset(fixture);
  return fixture;
}

/** Removes what the previous file left behind: faults, webhooks, scheduled syncs and unfinished jobs. */
async function reset({ api, owner }: TestSandbox): Promise<void> {
  await api.control('DELETE', '/control/faults');
  const headers = { access_token: null };
  const { webhook_urls } = (await api.call('GET', '/v1/webhook', { headers })).body;
  for (const { id } of webhook_urls) await api.call('DELETE', `/v1/webhook/${id}`, { headers });
  await postponeSyncs(owner);
  await until('all jobs to finish', async () => {
    const unfinished = await owner`SELECT FROM jobs WHERE finished_at IS NULL AND NOT parked LIMIT 1`;
    if (unfinished.length > 0) await endPauses(owner);
    return unfinished.length === 0;
  });
}
