import { InvalidArgumentError } from 'commander';

/** Prints lines for people. Control characters, which could change the terminal, are removed. */
export function printLine(text = ''): void {
  process.stdout.write(`${plain(text)}\n`);
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
  process.stderr.write(`${plain(text)}\n`);
}

/** Prints rows in columns as wide as their longest value. */
export function printTable(columns: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [columns.map((name) => name.toUpperCase()), ...rows.map((row) => row.map(plain))];
  const widths = columns.map((_name, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  for (const line of lines) {
    const padded = line.map((cell, index) => cell.padEnd(widths[index] ?? 0));
    process.stdout.write(`${padded.join('  ').trimEnd()}\n`);
  }
}

/** `2026-03-02 15:04:05`, in UTC as in the API. */
export function formatTime(iso: string | null): string {
  return iso === null ? '–' : iso.slice(0, 19).replace('T', ' ');
}

function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ');
}

/** The exit codes of the program. docs/guides/command-line.md explains them. */
export const exit_codes = { error: 1, usage: 2, job_failed: 3, unreachable: 4, credentials: 5 } as const;

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
