/**
 * `npm run scorecards`: certifies Larkspur, OpenEMR and every personality of the FHIR test server, uses the servers of
 * vendors, and writes what was seen.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from './build.mjs';
import { root } from './install.mjs';

const test_root = mkdtempSync(join(tmpdir(), 'chartwire-scorecards-'));
const env = { ...process.env, SCORE_CARDS: 'write', CHARTWIRE_TEST_ROOT: test_root };
try {
  run('node_modules/vitest/vitest.mjs', [
    'run',
    'test/certification/scoreCards.test.ts',
    'test/connectors/fhir/vendors/vendors.test.ts',
  ]);
  await build();
  run('dist/scripts/generate.js', []);
} finally {
  rmSync(test_root, { recursive: true, force: true });
}

function run(script, args) {
  const { status } = spawnSync(process.execPath, [join(root, script), ...args], { cwd: root, env, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
