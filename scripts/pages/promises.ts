import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promises, sections } from '../soak/promises/catalogue.ts';
import type { PromiseRow } from '../soak/promises/row.ts';
import { result_file, type SoakRun } from '../soak/result.ts';
import { code, page, table } from './markdown.ts';

/** `docs/reference/promises.md`: every promise with its tests and the figures of the last long run. */
export async function promisesPage(root: string): Promise<string> {
  const run: SoakRun = JSON.parse(await readFile(join(root, result_file), 'utf8'));
  const measured = promises.filter((row) => figuresOf(run, row).length > 0).length;
  const open = promises.filter((row) => isOpen(run, row));
  return page('Promises', [
    'What the service guarantees when something fails, and what shows it. The short form of each check is a test of `npm test`. The long form is `npm run soak`: API, workers, database, EMR and receivers as real processes, with faults from a seed. Afterwards a program of its own compares the database, the EMR’s ledger, and what clients and receivers noted.',
    table(
      ['', ''],
      [
        ['Last long run', `${run.date}, ${run.minutes} minutes, seed ${run.seed}: ${code(commandOf(run))}`],
        ['Machine', `${run.machine}, Node ${run.node}`],
        [
          'Promises',
          `${promises.length}, of which ${measured} were measured in this run; ${open.length} have something open`,
        ],
        ['Stages', run.stages.map(({ name, passed, duration_s }) => stage(name, passed, duration_s)).join(', ')],
      ],
    ),
    ...Object.entries(sections).flatMap(([title, rows]) => [
      `## ${title}`,
      table(
        ['Row', 'Fault or attack', 'Promise', 'Tests', 'Last long run', 'Open'],
        rows.map((row) => cells(run, row)),
      ),
    ]),
    '## Invariants after the mixed run',
    table(
      ['Invariant', 'Checked', 'Violations'],
      run.stages.flatMap(({ invariants = [] }) =>
        invariants.map(({ name, checked, violations }) => [name, checked.toLocaleString('en-US'), `${violations}`]),
      ),
    ),
  ]);
}

function commandOf({ seed, minutes }: SoakRun): string {
  return `npm run soak -- --seed ${seed} --minutes ${minutes}`;
}

function stage(name: string, passed: boolean, duration_s: number): string {
  return `${name} ${passed ? '' : '**failed** '}(${duration_s} s)`;
}

function cells(run: SoakRun, row: PromiseRow): string[] {
  const figures = figuresOf(run, row);
  const unmeasured = figures.length === 0 ? ['Not measured in the last long run.'] : [];
  const open = [...(row.open === undefined ? [] : [row.open]), ...unmeasured];
  return [`${row.row}`, row.fault, row.promise, links(row), figures.join('<br>') || '–', open.join(' ') || '–'];
}

function isOpen(run: SoakRun, row: PromiseRow): boolean {
  return row.open !== undefined || figuresOf(run, row).length === 0;
}

function figuresOf({ stages }: SoakRun, { row }: PromiseRow): string[] {
  return stages.flatMap(({ figures }) => figures[row] ?? []);
}

/** Each file once, without its folder. */
function links({ tests }: PromiseRow): string {
  const files = [...new Set(tests.map(({ file }) => file))];
  return files.map((file) => `[${file.slice('test/'.length, -'.test.ts'.length)}](../../${file})`).join(', ') || '–';
}
