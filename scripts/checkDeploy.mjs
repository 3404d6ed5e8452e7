/**
 * `npm run check:deploy`: checks the files in deploy/ with the programs that read them: Prometheus (promtool), systemd
 * and a Dockerfile linter. A program that is missing fails the check, or is skipped with --skip-missing.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runScript, ScriptError } from './install.mjs';

const deploy = join(root, 'deploy');
const scratch = mkdtempSync(join(tmpdir(), 'chartwire-deploy-'));
const skip_missing = process.argv.includes('--skip-missing');

await runScript(async () => {
  try {
    check('promtool', ['check', 'rules', join(deploy, 'prometheus/alerts.yml')]);
    check('promtool', ['test', 'rules', join(deploy, 'prometheus/alerts.test.yml')]);
    check('promtool', ['check', 'rules', dashboardRules()]);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});

function check(program, args, { env = process.env } = {}) {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', env });
  const line = [program, ...args].join(' ').replaceAll(`${root}`, '');
  if (error?.code === 'ENOENT' && skip_missing) {
    process.stdout.write(`skipped (${program} is not installed): ${line}\n`);
    return;
  }
  if (error) throw new ScriptError(`Cannot run ${program}: ${error.message}. Debian has it in ${packages[program]}.`);
  if (status !== 0) throw new ScriptError(`FAILED: ${line}\n${stdout}${stderr}`);
  process.stdout.write(`ok: ${line}\n`);
}

const packages = { promtool: 'the package prometheus' };

/** The queries of the dashboard as recording rules, because promtool checks the syntax of rules only. */
function dashboardRules() {
  const { panels } = JSON.parse(readFileSync(join(deploy, 'grafana/chartwire.json'), 'utf8'));
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const rules = queries.map((expr, n) => ({
    record: `dashboard:query:${n}`,
    // Grafana replaces its variables before it sends a query.
    expr: expr.replaceAll(/\$__(rate_interval|range)\b/g, '5m').replaceAll('$job', 'chartwire'),
  }));
  const file = join(scratch, 'dashboard.yml');
  // JSON is YAML.
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  return file;
}
