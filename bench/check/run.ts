import { parseArgs } from 'node:util';
import { bulkExportChecks } from './bulkExport.ts';
import { runChecks, selectChecks } from './check.ts';
import { emrResponseChecks } from './emrResponses.ts';
import { fairnessChecks } from './fairness.ts';
import { floodChecks } from './floods.ts';
import { startInstallation } from './installation.ts';
import { ratioChecks } from './ratios.ts';

/**
 * Checks the figures that depend on the speed of a machine, which `npm test` leaves out. Exit code 1 if one still
 * exceeds its limit at the third attempt. `--only NAME` runs one check or one group.
 */
const checks = [...(await ratioChecks()), ...floodChecks, ...fairnessChecks, ...emrResponseChecks, ...bulkExportChecks];

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const selected = selectChecks(checks, only);
if (selected.length === 0) {
  process.stderr.write(`There is no check '${only}'. Checks: ${checks.map(({ name }) => name).join(', ')}\n`);
  process.exitCode = 1;
} else {
  const installation = await startInstallation();
  try {
    if (!(await runChecks(selected, installation))) process.exitCode = 1;
  } finally {
    await installation.close();
  }
}
