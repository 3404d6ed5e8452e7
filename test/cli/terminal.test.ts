import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import type { TestSandbox } from '../harness/sandbox.ts';
import { newFolder } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';
import { runHere } from './support.ts';

const run = promisify(execFile);
let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

/** Runs a command as on a terminal with so many columns. */
async function runOnTerminal(args: readonly string[], env: Record<string, string> = {}, columns = 400) {
  const terminal = { isTTY: true, columns };
  for (const output of [process.stdout, process.stderr]) {
    for (const [name, value] of Object.entries(terminal)) {
      Object.defineProperty(output, name, { value, configurable: true, writable: true });
    }
  }
  try {
    return await runHere(args, { ...fixture.env, NO_COLOR: '', FORCE_COLOR: '', CI: '', TERM: 'xterm', ...env });
  } finally {
    for (const output of [process.stdout, process.stderr]) {
      for (const name of Object.keys(terminal))
        Object.defineProperty(output, name, { value: undefined, writable: true });
    }
  }
}

function expectPlain(text: string): void {
  expect(text).not.toContain('\x1b');
  expect(text).not.toContain('✗');
}

test('a terminal shows states with a symbol and a color, and leaves out what the environment forbids', async () => {
  await runHere(['sandbox', 'fault', 'refuse', '--once'], fixture.env);
  const { job_id } = (await fixture.api.callIn()).body;
  expect((await runHere(['jobs', 'watch', String(job_id)], fixture.env)).code).toBe(3);
  const list = ['jobs', 'list', '--status', 'failed', '--limit', '1'];
  const failed = '\x1b[31m✗ failed\x1b[39m';
  expect((await runOnTerminal(list)).stdout).toContain(failed);
  const plain = (await runOnTerminal(list, { NO_COLOR: '1' })).stdout;
  expect(plain).toContain('✗ failed');
  expect(plain).not.toContain('\x1b');
  expectPlain((await runOnTerminal(list, { TERM: 'dumb' })).stdout);
  const piped = { ...fixture.env, NO_COLOR: '', FORCE_COLOR: '' };
  expectPlain((await runHere(list, piped)).stdout);
  expect((await runHere(list, { ...piped, FORCE_COLOR: '1' })).stdout).toContain(failed);
  expect(JSON.parse((await runOnTerminal([...list, '--json'])).stdout).jobs).toMatchObject([{ job_id }]);

  const { base_url, client_id } = fixture.sandbox;
  const page = `${base_url}/dashboard/clients/${client_id}/jobs/${job_id}`;
  expect((await runOnTerminal(list, { TERM_PROGRAM: 'vscode' })).stdout).toContain(
    `\x1b]8;;${page}\x1b\\${job_id}\x1b]8;;\x1b\\`,
  );
  const narrow = (await runOnTerminal(list, { NO_COLOR: '1' }, 125)).stdout;
  for (const line of narrow.trimEnd().split('\n')) expect(line.length, line).toBeLessThanOrEqual(125);
  expect(narrow).toMatch(/…$/m);
});

test('marks errors on a terminal, and not the help of a group without a subcommand', async () => {
  expect((await runOnTerminal(['jobs', 'gte'])).stderr).toContain('✗ ');
  const { code, stderr } = await runOnTerminal(['jobs']);
  expect({ code, stderr }).toStrictEqual({ code: 2, stderr: expect.stringMatching(/^Usage: chartwire jobs /) });
});

test('times are local and name their zone, or UTC if asked for', async () => {
  const { job_id } = (await fixture.api.callIn()).body;
  await fixture.api.untilEvent(job_id);
  const { created_at } = JSON.parse((await runHere(['jobs', 'get', String(job_id), '--json'], fixture.env)).stdout).job;
  const utc = created_at.slice(0, 19).replace('T', ' ');
  const tokyo = { ...fixture.env, TZ: 'Asia/Tokyo' };
  const local = new Date(Date.parse(created_at) + 9 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
  expect((await runHere(['jobs', 'get', String(job_id)], tokyo)).stdout).toContain(`${local} GMT+9\n`);
  expect((await runHere(['jobs', 'list'], tokyo)).stdout).toMatch(/^JOB .* CREATED \(Asia\/Tokyo\) /);
  const shown = (await runHere(['jobs', 'get', String(job_id), '--utc'], tokyo)).stdout;
  expect(shown).toContain(`${utc} UTC\n`);
});

const words = {
  'chartwire jobs ru': ['run-again'],
  'chartwire trigger patient.crea': ['patient.created'],
  'chartwire sandbox fault lo': ['lose_answer'],
  'chartwire emr-apps re': ['remove'],
};
const options = {
  'chartwire jobs list --status need': ['needs_review'],
  'chartwire events list --del': ['--delivery'],
};

test('bash completes commands, options, states and event types', async () => {
  const file = join(await newFolder(), 'completion');
  await writeFile(file, (await runHere(['completion', 'bash'], {})).stdout);
  const complete = async (line: string) => {
    const script = `source '${file}'; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _chartwire; echo "\${COMPREPLY[@]}"`;
    return (await run('bash', ['-c', script])).stdout.trim().split(' ');
  };
  for (const [line, expected] of Object.entries({ ...words, ...options })) {
    expect(await complete(line), line).toStrictEqual(expected);
  }
  expect(await complete("chartwire ''")).toEqual(expect.arrayContaining(['listen', 'jobs', 'doctor', 'completion']));
});

const shells = await Promise.all(
  ['zsh', 'fish'].map((shell) =>
    run(shell, ['-c', 'true']).then(
      () => shell,
      () => undefined,
    ),
  ),
);

test.skipIf(!shells.includes('fish'))('fish completes commands, options, states and event types', async () => {
  const file = join(await newFolder(), 'completion');
  await writeFile(file, (await runHere(['completion', 'fish'], {})).stdout);
  for (const [line, expected] of Object.entries({ ...words, ...options })) {
    const { stdout } = await run('fish', ['-c', `source '${file}'; complete -C '${line}'`]);
    const printed = stdout
      .trim()
      .split('\n')
      .map((each) => each.split('\t')[0]);
    expect(printed, line).toStrictEqual(expected);
  }
});

test.skipIf(!shells.includes('zsh'))('zsh registers the completion', async () => {
  const file = join(await newFolder(), 'completion');
  await writeFile(file, (await runHere(['completion', 'zsh'], {})).stdout);
  const script = `autoload -Uz compinit; compinit -u -D; source '${file}'; echo $_comps[chartwire]`;
  expect((await run('zsh', ['-f', '-c', script])).stdout).toBe('_chartwire\n');
});
