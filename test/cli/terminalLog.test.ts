import { execFileSync, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { createLog } from '../../src/platform/telemetry/log.ts';
import { terminalLog } from '../../src/platform/telemetry/terminalLog.ts';
import { spawnSandbox } from '../harness/sandbox.ts';
import { until } from '../journeys/support.ts';

const program = fileURLToPath(new URL('../../dist/bin/chartwire.js', import.meta.url));

/** What a person sees of the given calls, without colors. */
function shown(write: (log: ReturnType<typeof createLog>) => void): string[] {
  const lines: string[] = [];
  write(
    createLog(
      'info',
      terminalLog({ write: (text) => lines.push(stripVTControlCharacters(text)) }, new Set(['patients.search'])),
    ),
  );
  return lines.map((line) => line.replace(/^\[\d\d:\d\d:\d\d\] /, ''));
}

test('has one line per request, without reads that succeeded', () => {
  const request = {
    endpoint: 'patients.list',
    status: 200,
    duration_ms: 4,
    request_id: 'r1',
    client: 'ci_1',
    code: '',
  };
  const lines = shown((log) => {
    log.info({ ...request, method: 'GET' }, 'request');
    log.info({ ...request, method: 'GET', status: 400, code: 'invalid_field' }, 'request');
    log.info({ ...request, method: 'POST', endpoint: 'patients.create' }, 'request');
    log.info({ ...request, method: 'POST', endpoint: 'patients.search' }, 'request');
    log.info({ ...request, method: 'POST', endpoint: 'patients.search', status: 400 }, 'request');
    log.info({ job_id: 7, job_type: 'patient.create', state: 'succeeded', attempt: 1, code: '' }, 'job finished');
  });
  expect(lines).toStrictEqual([
    'INFO: GET patients.list  400  4 ms  request_id=r1  code=invalid_field\n',
    'INFO: POST patients.create  200  4 ms  request_id=r1\n',
    'INFO: POST patients.search  400  4 ms  request_id=r1\n',
    'INFO: job finished  job_id=7  job_type=patient.create  state=succeeded  attempt=1\n',
  ]);
});

test('shows neither the message of an error nor fields that are not allowed, nor control characters', () => {
  const fields = { err: new Error('Testpatient was born in 1990'), mrn: 'LK100001', reason: 'a\u001b[2Jb' };
  const [line] = shown((log) => log.error(fields, 'request failed'));
  expect(line).toMatch(/^ERROR: request failed {2}problem=Error {2}where=.* {2}reason=a \[2Jb\n$/);
  expect(line).not.toMatch(/Testpatient|LK100001/);
});

test('production logs JSON, unless LOG_FORMAT says otherwise', () => {
  expect(loadConfig({ SANDBOX: 'on' }).log_format).toBeUndefined();
  expect(loadConfig({ SANDBOX: 'on', NODE_ENV: 'production' }).log_format).toBe('json');
  expect(loadConfig({ SANDBOX: 'on', NODE_ENV: 'production', LOG_FORMAT: 'text' }).log_format).toBe('text');
});

const has_python = (() => {
  try {
    execFileSync('python3', ['-c', 'import pty']);
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!has_python)('the service logs lines on a terminal, and JSON into a pipe', async () => {
  const product = await spawnSandbox({ small: true, env: { LOG_LEVEL: 'info' } });
  onTestFinished(() => product.close());
  const piped = await product.start();
  const { api } = await product.read();
  const send = async () => {
    await api.call('GET', '/v1/staff');
    await api.call('POST', '/v1/patients', { body: {} });
  };
  await send();
  await until('both requests to be logged', async () => piped.output().includes('"endpoint":"patients.create"'));
  const logged = piped
    .output()
    .split('\n')
    // The last one may be incomplete.
    .slice(0, -1)
    .filter((line) => line.startsWith('{'));
  expect(logged.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: 'request', endpoint: 'staff.list', method: 'GET', status: 200 }),
  );
  await piped.stop();

  // Python's standard library has pseudo-terminals; Node's has none.
  const { PATH = '', CHARTWIRE_TEST_ROOT = '' } = process.env;
  const child = spawn(
    'python3',
    ['-c', 'import pty, sys; pty.spawn(sys.argv[1:])', process.execPath, program, 'serve'],
    { env: { PATH, CHARTWIRE_TEST_ROOT, NO_COLOR: '1', ...product.env }, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  // The service stops when its terminal is gone.
  onTestFinished(() => void child.kill());
  let output = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  await until('the service to be ready', async () => /is ready/.test(output));
  await send();
  await until('the rejected request to be shown', async () => /patients\.create[^\n]*\n/.test(output));
  expect(output).toMatch(/^\[\d\d:\d\d:\d\d\] INFO: POST patients\.create {2}400 {2}\d+ ms {2}code=missing_field/m);
  expect(output).not.toContain('staff.list');
  expect(output).not.toContain('"level"');
  // Ctrl-C.
  child.stdin.write('\u0003');
  await until('the service to stop', async () => child.exitCode !== null);
});
