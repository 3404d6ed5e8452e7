/** One figure that must not exceed its limit, measured against a running installation. */
export type Check<Bench> = {
  /** For `--only`: a name selects its check, the part before a colon its group. */
  name: string;
  /** The highest value that passes. */
  limit: number;
  /** What the figure means: `s`, `MB` or `× quiet`. */
  unit: string;
  measure: (bench: Bench) => Promise<number>;
};

type Result = { name: string; figures: number[]; limit: number; unit: string; passed: boolean };

/** Other work on the machine can spoil a figure, but not three in a row. */
const attempts_max = 3;

/** Measures each check until it passes, at most three times, and prints a table. Returns whether all passed. */
export async function runChecks<Bench>(checks: readonly Check<Bench>[], bench: Bench): Promise<boolean> {
  const results: Result[] = [];
  for (const check of checks) {
    process.stdout.write(`${check.name}\n`);
    results.push(await runCheck(check, bench));
  }
  process.stdout.write(`\n${formatTable(results)}`);
  return results.every(({ passed }) => passed);
}

export function selectChecks<Bench>(checks: readonly Check<Bench>[], only: string | undefined): Check<Bench>[] {
  return checks.filter(({ name }) => only === undefined || name === only || name.startsWith(`${only}:`));
}

async function runCheck<Bench>({ name, limit, unit, measure }: Check<Bench>, bench: Bench): Promise<Result> {
  const figures: number[] = [];
  let passed = false;
  while (!passed && figures.length < attempts_max) {
    const figure = await measure(bench);
    figures.push(figure);
    passed = figure <= limit;
    process.stdout.write(`  ${show(figure)} ${unit} (at most ${limit})\n`);
  }
  return { name, figures, limit, unit, passed };
}

function formatTable(results: readonly Result[]): string {
  const rows = results.map(({ name, figures, limit, unit, passed }) => [
    passed ? 'ok' : 'FAILED',
    name,
    `${figures.map(show).join(', ')} ${unit}`,
    `at most ${limit} ${unit}`,
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => `${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}\n`).join('');
}

const show = (figure: number) => figure.toFixed(2);
