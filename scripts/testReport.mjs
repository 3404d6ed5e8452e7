/**
 * A Vitest reporter for `test.mjs`: writes the result and the times of each file, the CPU time of the database server that
 * all files use, and how many errors belong to no file.
 */
import { writeFileSync } from 'node:fs';
import { childrenCpuMs } from '../test/harness/cpuTime.ts';

export default class TestReport {
  onTestRunEnd(modules, errors) {
    const files = modules.map((module) => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      const { own_ms = null, children_ms = null } = module.meta().cpu ?? {};
      return {
        file: module.relativeModuleId,
        ok: module.ok(),
        passed: [...module.children.allTests('passed')].length,
        failures: [...module.children.allTests('failed')].map(({ fullName }) => fullName),
        times: { wall_ms: Math.round(collectDuration + setupDuration + duration), own_ms, children_ms },
      };
    });
    const database_cpu_ms = childrenCpuMs(process.pid, 'postgres');
    writeFileSync(process.env.CHARTWIRE_TEST_REPORT, JSON.stringify({ files, database_cpu_ms, errors: errors.length }));
  }
}
