import type { Sandbox } from './seedSandbox.ts';

/** Printed when the sandbox is ready: addresses, credentials and a first request to paste. */
export function banner(sandbox: Sandbox, file: string): string {
  const { example, larkspur } = sandbox;
  const [person] = larkspur.staff;
  const body = JSON.stringify({
    patient_mrn: example.patient_mrn,
    provider_id: example.provider_id,
    location_id: example.location_id,
    assigned_to_id: example.assigned_to_id,
    reason: 'First call',
    caller: 'Test caller',
    message: 'Hello from Chartwire',
  });
  return `
Chartwire is ready (sandbox mode, synthetic patients only).

  API            ${sandbox.base_url}
  Documentation  ${sandbox.docs_url}
  Dashboard      ${sandbox.dashboard.url}
                 email ${sandbox.dashboard.email}, password ${sandbox.dashboard.password}
  Larkspur EMR   ${larkspur.url}
                 user ${person?.username}, password ${person?.password}, one-time codes at ${larkspur.url}/codes

  client_id      ${sandbox.client_id}
  client_secret  ${sandbox.client_secret}
  access_token   ${sandbox.access_token}

  These values are also in ${file}

Create a telephone encounter:

  curl -s ${sandbox.base_url}/v1/telephone-encounters \\
    -H 'client_id: ${sandbox.client_id}' \\
    -H 'client_secret: ${sandbox.client_secret}' \\
    -H 'access_token: ${sandbox.access_token}' \\
    -H 'content-type: application/json' \\
    -d '${body}'

Get its outcome (replace JOB_ID with the job_id in the response), or open the patient's chart in Larkspur:

  curl -s '${sandbox.base_url}/v1/webhook-events?job_id=JOB_ID' \\
    -H 'client_id: ${sandbox.client_id}' \\
    -H 'client_secret: ${sandbox.client_secret}' \\
    -H 'access_token: ${sandbox.access_token}'

Press Ctrl-C to stop.
`;
}

/** Printed once, at the first start of an installation, on a terminal: only a hash of the password is stored. */
export function ownerNotice(base_url: string, { email, password }: { email: string; password: string }): string {
  return `
The first owner account was created. The password is not shown again and expires in 72 hours: sign in now and change it.

  Dashboard  ${base_url}/dashboard
  Email      ${email}
  Password   ${password}

`;
}

/** For everything else, because what is printed stays in a log. */
export function ownerFileNotice(base_url: string, email: string, file: string): string {
  return `
The first owner account was created. Its temporary password is in a file that only this user can read. It expires in
72 hours: sign in, change it and delete the file.

  Dashboard  ${base_url}/dashboard
  Email      ${email}
  Password   in ${file}

`;
}
