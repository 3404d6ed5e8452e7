import { InvalidArgumentError } from 'commander';
import { removeControls, render, type Text } from './terminal.ts';

/** Prints a line for people: its parts, one after the other. */
export function printLine(...parts: readonly Text[]): void {
  process.stdout.write(`${parts.map((part) => render(part).shown).join('')}\n`);
}

/** Prints a value for programs: indented, or as one line if more follow. */
export function printJson(value: unknown, { line = false } = {}): void {
  process.stdout.write(`${JSON.stringify(value, null, line ? undefined : 2)}\n`);
}

/** The option of commands that can print their result for programs. */
export type JsonOption = { json?: boolean | undefined };

/** Prints the result of a command: the value for programs, or the text for people. */
export function printResult({ json }: JsonOption, value: unknown, text: string): void {
  if (json) printJson(value);
  else process.stdout.write(text);
}

/** A line about the progress of a command. It goes to the standard error output, so that results can be piped. */
export function printProgress(text: string): void {
  process.stderr.write(`${removeControls(text)}\n`);
}

/** Prints rows in columns as wide as their longest value. On a terminal, the last column ends with the line. */
export function printTable(columns: readonly string[], rows: readonly (readonly Text[])[]): void {
  const head = columns.map(
    (name): Text => ({ text: name.replace(/^[^(]+/, (word) => word.toUpperCase()), style: 'dim' }),
  );
  const lines = [head, ...rows].map((row) => row.map((cell) => ({ cell, ...render(cell) })));
  const widths = columns.map((_name, index) => Math.max(...lines.map((line) => line[index]?.width ?? 0)));
  const room = lastColumnWidth(widths.slice(0, -1));
  for (const line of lines) {
    const cells = line.map(({ cell, shown, width }, index) => {
      if (index < columns.length - 1) return shown + ' '.repeat((widths[index] ?? 0) - width);
      return width <= room ? shown : render(shorten(cell, width - room)).shown;
    });
    process.stdout.write(`${cells.join('  ').trimEnd()}\n`);
  }
}

const narrowest_column = 12;

/** What is left of the terminal's line. A column that would be too narrow is not cut. */
function lastColumnWidth(others: readonly number[]): number {
  if (process.stdout.isTTY !== true || !process.stdout.columns) return Number.POSITIVE_INFINITY;
  const left = process.stdout.columns - others.reduce((sum, width) => sum + width + 2, 0);
  return left < narrowest_column ? Number.POSITIVE_INFINITY : left;
}

function shorten(cell: Text, by: number): Text {
  const text = typeof cell === 'string' ? cell : cell.text;
  const cut = `${text.slice(0, Math.max(text.length - by - 1, 0)).trimEnd()}…`;
  return typeof cell === 'string' ? cut : { ...cell, text: cut };
}

/** Prints names and values, one pair per line. */
export function printFacts(facts: readonly (readonly [name: string, value: Text])[]): void {
  const width = Math.max(...facts.map(([name]) => name.length));
  for (const [name, value] of facts) printLine({ text: name.padEnd(width), style: 'dim' }, '  ', value);
}

/** The option of commands that show times. `run` reads it. */
export const utc_option = ['--utc', 'show times in UTC instead of local time'] as const;

/** The exit codes of the program. docs/guides/command-line.md explains them. */
export const exit_codes = { error: 1, usage: 2, job_failed: 3, unreachable: 4, credentials: 5, unfinished: 6 } as const;

/** An error of a command: one sentence or two with the cause and the remedy, and the exit code. */
export class CommandFailure extends Error {
  readonly exit: keyof typeof exit_codes;

  constructor(message: string, exit: keyof typeof exit_codes = 'error', options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CommandFailure';
    this.exit = exit;
  }
}

/** How often a terminal's line changes. */
const terminal_ms = 100;

/** Shows progress: a percentage that changes in place on a terminal, otherwise one line per quarter. */
export function showProgress(
  output: NodeJS.WriteStream = process.stderr,
): (label: string, done: number, total: number) => void {
  let shown = { label: '', quarter: -1, at: 0 };
  return (label, done, total) => {
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    const quarter = Math.floor(percent / 25);
    const finished = done >= total;
    const line = `${label}: ${percent} %`;
    if (output.isTTY) {
      if (!finished && label === shown.label && Date.now() - shown.at < terminal_ms) return;
      if (finished && label === shown.label && shown.quarter === quarter) return;
      output.write(`\r${line}${finished ? '\n' : ''}`);
    } else {
      if (label === shown.label && quarter === shown.quarter) return;
      output.write(`${line}\n`);
    }
    shown = { label, quarter, at: Date.now() };
  };
}

/** Reads an option that is a number of records or seconds. */
export function readCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('It must be a number from 1 to 10000.');
}
