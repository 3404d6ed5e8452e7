import { parseArgs } from 'node:util';
import { measureEmr } from './emr.ts';
import { measureProduct } from './product.ts';
import { measureQueue } from './queue.ts';
import { writePage } from './report.ts';
import { compareRequests } from './requests.ts';

/**
 * Prints the performance table and writes docs/reference/performance.md. `--only TEXT` measures the requests whose name
 * contains the text, and writes nothing.
 */
const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const { rows, postgres_version } = await compareRequests(only);
if (only === undefined) {
  rows.push(...(await measureQueue()), ...(await measureEmr()), ...(await measureProduct()));
  await writePage(rows, postgres_version);
}
