import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promises, sections } from '../soak/promises/catalogue.ts';
import type { PromiseRow } from '../soak/promises/row.ts';
import { result_file, type StageRun } from '../soak/result.ts';
import { code, page, table } from './markdown.ts';

/** `docs/reference/promises.md`: every promise with its tests and the figures of the last long run. */
export async function promisesPage(root: string): Promise<string> {
  const runs: StageRun[] = JSON.parse(await readFile(join(root, result_file), 'utf8'));
  const measured = promises.filter((row) => listFigures(runs, row).length > 0).length;
  const open = promises.filter((row) => isOpen(runs, row));
  return page('Promises', [
    'What the service guarantees when something fails, and how it is checked. The short form of each check is part of `npm test`. The long form is `npm run soak`: API, workers, database, EMR and receivers as real processes, with faults from a seed. Afterwards a separate program compares the database, the EMR’s ledger, and the records kept by clients and receivers.',
    `Of ${promises.length} promises, ${measured} have a figure from a long run, and ${open.length} have something open, which is listed. A figure counts only faults that had an effect.`,
    table(
      ['Stage', 'Ended', 'Result', 'Took', 'Repeat with'],
      runs.map((run) => [
        run.name,
        run.at.slice(0, 16).replace('T', ' '),
        formatResult(run),
        `${run.duration_s} s`,
        formatCommand(run),
      ]),
    ),
    `Machine: ${[...new Set(runs.map(({ machine, node }) => `${machine}, Node ${node}`))].join('; ')}. All parts share it.`,
    ...Object.entries(sections).flatMap(([title, rows]) => [
      `## ${title}`,
      table(
        ['Row', 'Fault or attack', 'Promise', 'Tests', 'Long run', 'Open'],
        rows.map((row) => cells(runs, row)),
      ),
    ]),
    '## Invariants after the mixed run',
    table(
      ['Invariant', 'Checked', 'Violations'],
      runs.flatMap(({ invariants = [] }) =>
        invariants.map(({ name, checked, violations }) => [name, checked.toLocaleString('en-US'), `${violations}`]),
      ),
    ),
  ]);
}

function formatCommand({ name, seed, minutes }: StageRun): string {
  return code(`npm run soak -- --stage "${name}" --seed ${seed} --minutes ${minutes}`);
}

function formatResult({ passed, error }: StageRun): string {
  return passed ? 'passed' : `**failed**${error === undefined ? '' : `: ${error}`}`;
}

function cells(runs: StageRun[], row: PromiseRow): string[] {
  const figures = listFigures(runs, row);
  const unmeasured = figures.length === 0 ? ['No long run has measured it yet.'] : [];
  const open = [...(row.open === undefined ? [] : [row.open]), ...unmeasured];
  const goal = row.goal === undefined ? [] : [`Goal: ${row.goal}`];
  const long = [...figures, ...goal].join('<br>') || '–';
  return [`${row.row}`, row.fault, row.promise, links(row), long, open.join(' ') || '–'];
}

function isOpen(runs: StageRun[], row: PromiseRow): boolean {
  return row.open !== undefined || listFigures(runs, row).length === 0;
}

function listFigures(runs: readonly StageRun[], { row }: PromiseRow): string[] {
  return runs.flatMap(({ figures }) => figures[row] ?? []);
}

/** Each file once, without its folder. */
function links({ tests }: PromiseRow): string {
  const files = [...new Set(tests.map(({ file }) => file))];
  return files.map((file) => `[${file.slice('test/'.length, -'.test.ts'.length)}](../../${file})`).join(', ') || '–';
}
