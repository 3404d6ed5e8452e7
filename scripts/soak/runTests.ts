import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { print } from '../cluster/programs.ts';
import { root } from '../serviceProcess.ts';
import type { TestReference } from './promises/row.ts';

export type TestRun = { passed: TestReference[]; failed: number };

type Report = {
  testResults: { name: string; status: string; assertionResults: { fullName: string; status: string }[] }[];
};

/** Runs these tests of `npm test` with Vitest, with figures given in the environment. Files that fail to load count as failed. */
export async function runTests(
  { folder }: { folder: string },
  tests: readonly TestReference[],
  env: Record<string, string> = {},
): Promise<TestRun> {
  mkdirSync(folder, { recursive: true });
  const report_file = join(folder, 'vitest.json');
  const files = [...new Set(tests.map(({ file }) => file))];
  const titles = tests.map(({ title }) => titlePattern(title)).join('|');
  const reporters = ['--reporter=json', `--outputFile.json=${report_file}`];
  const args = ['node_modules/vitest/vitest.mjs', 'run', ...files, '-t', titles, ...reporters];
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...env, CHARTWIRE_TEST_ROOT: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const [code] = await once(child, 'exit');
  const { testResults } = JSON.parse(readFileSync(report_file, 'utf8')) as Report;
  const results = testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ file: name, title: fullName, status })),
  );
  const failed = results.filter(({ status }) => status === 'failed');
  for (const { file, title } of failed) print(`FAILED ${file}: ${title}`);
  const passed = results.filter(({ status }) => status === 'passed');
  // Nothing ran, or a file could not be loaded.
  const broken = passed.length === 0 || (code !== 0 && failed.length === 0) ? 1 : 0;
  return { passed, failed: failed.length + broken };
}

/** Matches a title as it is reported: the placeholders of `test.each` stand for any text. */
export function titlePattern(title: string): string {
  return title
    .split(/%[a-z]/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
}
