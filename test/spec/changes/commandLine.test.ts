import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runHere } from '../../cli/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
let folder: string;
beforeAll(async () => {
  fixture = await sharedSandbox();
  folder = await mkdtemp(join(tmpdir(), 'chartwire-changes-'));
});
afterAll(() => rm(folder, { recursive: true }));

const run = (...args: string[]) => runHere(args, fixture.env);

test(row('CHG-15'), async () => {
  const lines = (text: string) => text.split('\n').filter((line) => line !== '');
  const all = await run('changes', '--kinds', 'patients', '--json');
  const changes = lines(all.stdout).map((line) => JSON.parse(line));
  expect(changes.length).toBeGreaterThan(150);
  expect(changes[0]).toMatchObject({ kind: 'patients', op: 'upsert', record: { last_name: expect.any(String) } });
  const cursor = /^Cursor: (\S+)$/m.exec(all.stderr)?.[1] ?? '';
  expect(await run('changes', '--kinds', 'patients', '--cursor', cursor)).toMatchObject({ code: 0, stdout: '' });
  const few = await run('changes', '--kinds', 'patients', '--limit', '3');
  expect(lines(few.stdout)).toHaveLength(3);
  expect(few.stdout).not.toContain(changes[0].record.last_name);

  const file = join(folder, 'changes.cursor');
  const first = await run('changes', '--kinds', 'patients', '--cursor-file', file, '--json');
  expect(lines(first.stdout).length).toBe(changes.length);
  const first_cursor = (await readFile(file, 'utf8')).trim();
  const following = run('changes', '--follow', '--kinds', 'patients', '--cursor-file', file, '--json');
  const person = { first_name: 'Cli', last_name: `Testpatient-${randomUUID()}`, dob: '1990-01-31', sex: 'female' };
  const { job_id } = (await fixture.api.call('POST', '/v1/patients', { body: person })).body;
  const { data } = await fixture.api.untilEvent(job_id);
  // The feed shows a change when all transactions that began before it have ended.
  const isAfter = async (cursor: string) => {
    const path = `/v1/changes?kinds=patients&cursor=${encodeURIComponent(cursor)}`;
    const { changes } = (await fixture.api.call('GET', path)).body;
    return changes.some(({ id }: { id: string }) => id === data.patient_id);
  };
  await expect.poll(() => isAfter(first_cursor)).toBe(true);
  // The cursor is saved after the change was printed.
  await expect.poll(async () => isAfter((await readFile(file, 'utf8')).trim())).toBe(false);
  process.emit('SIGHUP');
  const followed = await following;
  expect(followed).toMatchObject({ code: 0, stderr: '' });
  expect(lines(followed.stdout).map((line) => JSON.parse(line).id)).toContain(data.patient_id);

  for (const [args, error] of [
    [['--kinds', 'pets'], "'pets' is none of"],
    [['--cursor', 'x', '--cursor-file', file], 'Use either'],
    [['--limit', '3', '--cursor-file', file], '--limit could end'],
    [['--cursor', 'x'], 'cursor'],
  ] as const) {
    const refused = await run('changes', ...args);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain(error);
  }
});
