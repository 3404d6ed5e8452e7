import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { cpus, totalmem } from 'node:os';
import { promisify } from 'node:util';

/** One line of the performance table. */
export type Row = { work: string; figure: string; goal: string; detail: string; ratio?: number };

/** Prints a row as soon as it is known. */
export function report(row: Row): Row {
  process.stdout.write(`${row.work}: ${row.figure} (goal: ${row.goal})\n  ${row.detail}\n`);
  return row;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

const page = 'docs/reference/performance.md';

/**
 * The date and the machine, for a page of figures. Absolute figures depend on the machine and its load; ratios less so.
 */
export async function measuredOn(postgres_version: string): Promise<string> {
  const load = (await promisify(execFile)('uptime')).stdout.trim().replace(/.*load/, 'load');
  const machine = `${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB`;
  return `${new Date().toISOString().slice(0, 10)}: ${machine}, Node ${process.versions.node}, PostgreSQL ${postgres_version}, ${load}`;
}

/** Writes the reference page. */
export async function writePage(rows: readonly Row[], postgres_version: string): Promise<void> {
  const lines = rows.map(({ work, figure, goal, detail }) => `| ${work} | ${figure} | ${goal} | ${detail} |`);
  const text = `# Performance

Written by \`npm run bench\` on ${await measuredOn(postgres_version)}. The client, the service and the database share the machine. Ratios are medians of rounds that alternate, so that other work on the machine affects both sides alike; absolute figures are those of a machine with this load.

| Work | Measured | Goal | Details |
|---|---|---|---|
${lines.join('\n')}

What limits these figures: [decision 0014](../decisions/0014-accepting-writes.md). What a million rows, or a thousand practices, add to them: [growth](growth.md).
`;
  await writeFile(page, text);
}
