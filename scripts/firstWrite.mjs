/** Checks of a service that was started as a process of its own. Uses no packages. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { ScriptError } from './install.mjs';

const job_ms = 60_000;

/** Resolves when a service that was started says that it is ready. */
export async function ready(child) {
  let output = '';
  await new Promise((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
        if (/is ready/.test(output)) resolve();
      });
    }
    child.once('exit', () => reject(new ScriptError(`The service did not start:\n${output}`)));
  });
  process.stdout.write('ok: started\n');
}

/** Sends a first write to a sandbox and returns its job when it has succeeded. */
export async function firstWrite({ base_url, client_id, client_secret, access_token, example }) {
  const { patient_mrn, provider_id, location_id, assigned_to_id } = example;
  const headers = { client_id, client_secret, access_token, 'content-type': 'application/json' };
  const body = JSON.stringify({ patient_mrn, provider_id, location_id, assigned_to_id, reason: 'First write' });
  const accepted = await fetch(`${base_url}/v1/telephone-encounters`, { method: 'POST', headers, body });
  const { job_id, message } = await accepted.json();
  if (accepted.status !== 200) throw new ScriptError(`The write was not accepted: ${message}`);
  for (const deadline = Date.now() + job_ms; Date.now() < deadline; await sleep(100)) {
    const { job } = await (await fetch(`${base_url}/v1/jobs/${job_id}`, { headers })).json();
    if (job.status === 'succeeded') return job;
    if (job.finished_at !== null) throw new ScriptError(`The write failed: ${JSON.stringify(job.error)}`);
  }
  throw new ScriptError('The write did not finish within a minute.');
}

/** Resolves when a process has ended. */
export async function ended(child) {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
