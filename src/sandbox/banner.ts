import type { Sandbox } from './laySandbox.ts';

/** What is printed at the end of a start in sandbox mode: addresses, credentials, and a first call to paste. */
export function banner(sandbox: Sandbox, file: string): string {
  const { example, larkspur } = sandbox;
  const [person] = larkspur.staff;
  const body = JSON.stringify({
    patient_mrn: example.patient_mrn,
    provider_id: example.provider_id,
    location_id: example.location_id,
    assigned_to_id: example.assigned_to_id,
    reason: 'First call',
    caller: 'A newcomer',
    message: 'Hello from Chartwire',
  });
  return `
Chartwire is ready (sandbox: synthetic patients only).

  API          ${sandbox.base_url}
  Reference    ${sandbox.docs_url}
  Dashboard    ${sandbox.dashboard.url}   sign in as ${sandbox.dashboard.email} / ${sandbox.dashboard.password}
  Larkspur EMR ${larkspur.url}   sign in as ${person?.username} / ${person?.password}
               one-time codes: ${larkspur.url}/codes

  client_id     ${sandbox.client_id}
  client_secret ${sandbox.client_secret}
  access_token  ${sandbox.access_token}
  Everything, also for scripts: ${file}

Try a first write:

  curl -s ${sandbox.base_url}/v1/telephone-encounters \\
    -H 'client_id: ${sandbox.client_id}' \\
    -H 'client_secret: ${sandbox.client_secret}' \\
    -H 'access_token: ${sandbox.access_token}' \\
    -H 'content-type: application/json' \\
    -d '${body}'

Then ask what became of it (its job_id is in the answer), or look at the patient's chart in Larkspur:

  curl -s '${sandbox.base_url}/v1/webhook-events?job_id=JOB_ID' \\
    -H 'client_id: ${sandbox.client_id}' \\
    -H 'client_secret: ${sandbox.client_secret}' \\
    -H 'access_token: ${sandbox.access_token}'

Press Ctrl-C to stop.
`;
}

/** Told once, at the first start of an installation: the password is stored nowhere but as its hash. */
export function ownerNotice(base_url: string, { email, password }: { email: string; password: string }): string {
  return `
The first owner of this installation was made. The password is not shown again: sign in now and change it.

  Dashboard  ${base_url}/dashboard
  E-mail     ${email}
  Password   ${password}

`;
}
