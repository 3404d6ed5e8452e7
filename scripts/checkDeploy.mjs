/**
 * `npm run check:deploy`: checks the files in deploy/ with the programs that read them: Prometheus (promtool), systemd
 * and a Dockerfile linter. A program that is missing fails the check, or is skipped with --skip-missing.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root, runScript, ScriptError } from './install.mjs';

const deploy = join(root, 'deploy');
const scratch = mkdtempSync(join(tmpdir(), 'chartwire-deploy-'));
const linter = join(root, 'node_modules/dockerfile-utils/bin/dockerfile-utils');
const skip_missing = process.argv.includes('--skip-missing');

await runScript(async () => {
  try {
    check('promtool', ['check', 'rules', join(deploy, 'prometheus/alerts.yml')]);
    check('promtool', ['test', 'rules', join(deploy, 'prometheus/alerts.test.yml')]);
    check('promtool', ['check', 'rules', dashboardRules()]);
    check('systemd-analyze', ['verify', '--man=no', unitHere()]);
    // The exposure of the unit to attacks, from 0 to 100; a unit without hardening has 96.
    check('systemd-analyze', ['security', '--offline=true', '--threshold=25', unitHere()]);
    // The same with its drop-in, which systemd finds next to the unit.
    addDropIn();
    check('systemd-analyze', ['verify', '--man=no', unitHere()]);
    check('systemd-analyze', ['security', '--offline=true', '--threshold=25', unitHere()]);
    check(process.execPath, [linter, 'lint', join(deploy, 'Dockerfile')]);
  } finally {
    rmSync(scratch, { recursive: true });
  }
});

function check(program, args) {
  const { error, status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  const line = [program, ...args].join(' ').replaceAll(`${root}`, '');
  if (error?.code === 'ENOENT' && skip_missing) {
    process.stdout.write(`skipped (${program} is not installed): ${line}\n`);
    return;
  }
  if (error) throw new ScriptError(`Cannot run ${program}: ${error.message}. Debian has it in ${packages[program]}.`);
  // systemd-analyze only warns about directives that it does not know.
  if (status !== 0 || (args[0] === 'verify' && stderr !== ''))
    throw new ScriptError(`FAILED: ${line}\n${stdout}${stderr}`);
  process.stdout.write(`ok: ${line}\n`);
}

const packages = { promtool: 'the package prometheus', 'systemd-analyze': 'the package systemd' };

/** The unit with a program that exists on this machine: verify looks for it. */
function unitHere() {
  const file = join(scratch, 'chartwire.service');
  const unit = readFileSync(join(deploy, 'chartwire.service'), 'utf8');
  writeFileSync(file, unit.replaceAll('/opt/chartwire/chartwire', process.execPath));
  return file;
}

function addDropIn() {
  const folder = join(scratch, 'chartwire.service.d');
  mkdirSync(folder);
  copyFileSync(join(deploy, 'chartwire-credentials.conf'), join(folder, 'credentials.conf'));
}

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
