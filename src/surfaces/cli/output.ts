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
export function timeOf(iso: string | null): string {
  return iso === null ? '–' : iso.slice(0, 19).replace('T', ' ');
}

function plain(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ');
}
