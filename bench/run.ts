import { parseArgs } from 'node:util';
import { measureEmr } from './emr.ts';
import { measureQueue } from './queue.ts';
import { type Row, report, writePage } from './report.ts';
import { compareRequests } from './requests.ts';

/**
 * Prints the performance table and writes docs/reference/performance.md. `--only TEXT` measures the requests whose name
 * contains the text, and writes nothing.
 */
const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const { rows, postgres_version, memory_mb } = await compareRequests(only);
if (only === undefined) {
  const memory: Row = report({
    work: 'memory of the API process after start',
    figure: `${memory_mb.toFixed(0)} MB`,
    goal: '≤ 350 MB',
    detail: 'resident, with what seeded the sandbox; without PostgreSQL',
  });
  await writePage([...rows, ...(await measureQueue()), ...(await measureEmr()), memory], postgres_version);
}
