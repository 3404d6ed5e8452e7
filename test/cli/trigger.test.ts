import { afterAll, beforeAll, expect, test } from 'vitest';
import { event_types } from '../../src/model/events.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { runHere } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  // Its own: an expired link affects everyone who uses the sandbox.
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

/** Rows of the events table of a type. */
const stored = (type: string) => fixture.owner`SELECT id FROM events WHERE type = ${type}`;

async function expectTriggered(type: string): Promise<void> {
  const before = (await stored(type)).length;
  const { code, stdout, stderr } = await runHere(['trigger', type, '--json'], fixture.env);
  expect(code, stderr).toBe(0);
  const { event } = JSON.parse(stdout);
  expect(event).toMatchObject({ type, id: expect.any(String) });
  const after = await stored(type);
  expect(after).toHaveLength(before + 1);
  expect(after.map(({ id }) => id)).toContain(event.id);
}

test.each(event_types)('triggers %s', expectTriggered);

test.each(['login_required', 'sync.failed', 'patient.insurance.added', 'telephone_encounter.created'])(
  'triggers %s a second time',
  expectTriggered,
);

test('leaves no fault behind and keeps the account linked', async () => {
  const { body } = await fixture.api.control('GET', '/control/faults');
  expect(body.faults).toStrictEqual([]);
  const [account] = (await fixture.api.call('GET', '/v1/accounts')).body.accounts;
  expect(account).toMatchObject({ status: 'active', waiting_jobs: 0 });
});

test('opens what was written in the sandbox EMR', async () => {
  const { code, stdout, stderr } = await runHere(['trigger', 'telephone_encounter.created', '--open'], fixture.env);
  expect(code, stderr).toBe(0);
  const [, url = ''] = stdout.split('\n');
  expect(url).toMatch(new RegExp(`^${fixture.sandbox.larkspur.url}/open/`));
  const opened = await fetch(url, { redirect: 'manual' });
  expect(opened.status).toBeLessThan(400);
  expect(opened.headers.get('set-cookie')).toBeTruthy();
});

test('says what it waits for while the EMR fails, and gives up with the state of the job and its last reason', async () => {
  await runHere(['sandbox', 'fault', 'error_500'], fixture.env);
  const { code, stdout, stderr } = await runHere(['trigger', 'patient.created', '--timeout', '3'], fixture.env);
  expect({ code, stdout }).toStrictEqual({ code: 6, stdout: '' });
  const [, job_id = ''] =
    /^Job (\d+): retrying \(attempt 1\)\. Larkspur responded with an error \(500\)\.$/m.exec(stderr) ?? [];
  expect(stderr.trimEnd().split('\n').at(-1)).toMatch(
    new RegExp(
      `^Job ${job_id} has not finished within 3 seconds: retrying \\(attempt \\d\\)\\. Last reason: Larkspur responded with an error \\(500\\)\\. It continues in the service\\. Follow it with: chartwire jobs watch ${job_id}$`,
    ),
  );
  expect((await runHere(['jobs', 'list'], fixture.env)).stdout).toMatch(
    new RegExp(
      `^${job_id} +patient\\.create +retrying \\(attempt \\d\\) .* Larkspur responded with an error \\(500\\)\\.$`,
      'm',
    ),
  );
  await runHere(['sandbox', 'fault', '--off'], fixture.env);
  expect((await runHere(['jobs', 'watch', job_id], fixture.env)).code).toBe(0);
});

test('lists the events, and refuses others in one sentence', async () => {
  const { stdout } = await runHere(['trigger', '--json'], fixture.env);
  expect(JSON.parse(stdout).events.map(({ type }: { type: string }) => type)).toStrictEqual(event_types);
  const wrong = await runHere(['trigger', 'patient.exploded'], fixture.env);
  expect(wrong).toStrictEqual({
    ...{ code: 2, stdout: '' },
    stderr: "There is no event 'patient.exploded'. List them with: chartwire trigger\n",
  });
});
