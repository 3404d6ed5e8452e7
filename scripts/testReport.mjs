/** A Vitest reporter for `test.mjs`: writes the result of each file, and how many errors belong to none, to a file. */
import { writeFileSync } from 'node:fs';

export default class TestReport {
  onTestRunEnd(modules, errors) {
    const files = modules.map((module) => ({
      file: module.relativeModuleId,
      ok: module.ok(),
      passed: [...module.children.allTests('passed')].length,
      failures: [...module.children.allTests('failed')].map(({ fullName }) => fullName),
    }));
    writeFileSync(process.env.CHARTWIRE_TEST_REPORT, JSON.stringify({ files, errors: errors.length }));
  }
}
