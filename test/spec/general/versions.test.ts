import { beforeAll, expect, test } from 'vitest';
import { expectApiError } from '../../api/support.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { readOperations } from '../support/publishedOperations.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

test(row('VER-01'), async () => {
  for (const { method, path, url } of await readOperations(fixture.api, '/v1/')) {
    const bare = url.slice('/v1'.length);
    const response = await fixture.api.call(method, bare);
    expectApiError(response, 404, `No such endpoint: ${method} ${bare}`);
    // With the prefix, even an invalid request reaches an endpoint.
    expect((await fixture.api.call(method, url)).body.message ?? '', path).not.toMatch(/^No such endpoint/);
  }
  // The other paths return no EMR data.
  const { body } = await fixture.api.call('GET', '/openapi.json');
  const elsewhere = Object.keys(body.paths).filter((path) => !path.startsWith('/v1/'));
  for (const path of elsewhere) expect(path).toMatch(/^\/(link|sandbox)\//);
});

test(row('VER-02'), async () => {
  const headers = { access_token: null };
  const body = { user_id: 'u', org_id: fixture.sandbox.org_id };
  expect((await fixture.api.call('POST', '/link/token/create', { body, headers })).status).toBe(200);
  const exchange = await fixture.api.call('GET', '/link/token/exchange?public_token=x', { headers });
  expectApiError(exchange, 400, 'Invalid or expired public_token.', 'public_token');
  for (const [method, path] of [
    ['POST', '/v1/link/token/create'],
    ['GET', '/v1/link/token/exchange'],
  ] as const) {
    expectApiError(await fixture.api.call(method, path, { headers }), 404, `No such endpoint: ${method} ${path}`);
  }
});

/** Every operation published in `/v1`. Lines may be added, but never removed. */
const published = `
  POST /v1/telephone-encounters
  POST /v1/telephone-encounters/actions
  POST /v1/appointments
  GET /v1/appointments/{id}
  GET /v1/availability
  POST /v1/documents
  GET /v1/providers
  PATCH /v1/providers/ehr/{ehr_id}
  PATCH /v1/providers/{id}
  GET /v1/locations
  PATCH /v1/locations/{id}
  GET /v1/staff
  GET /v1/pharmacies
  GET /v1/patients
  POST /v1/patients
  PATCH /v1/patients/{id}
  POST /v1/patients/{patient_mrn}/insurances
  PATCH /v1/patients/{patient_mrn}/insurances/{emr_insurance_id}
  POST /v1/patients/fetch
  GET /v1/claims
  GET /v1/orders
  GET /v1/insurance-providers
  GET /v1/referring-providers
  GET /v1/visit-types
  GET /v1/visit-statuses
  GET /v1/settings
  POST /v1/sync
  GET /v1/jobs/{job_id}
  GET /v1/webhook-events
  POST /v1/webhook-events/{id}/resend
  POST /v1/webhook
  GET /v1/webhook
  DELETE /v1/webhook/{id}
  POST /v1/webhook/rotate-secret
  POST /v1/webhook/{id}/rotate-secret
`
  .trim()
  .split(/\n\s*/);

test(row('DEC-363'), async () => {
  const document = (await fixture.api.call('GET', '/openapi.json')).body;
  const operations = await readOperations(fixture.api, '/v1/');
  const names = operations.map(({ method, path }) => `${method} ${path}`);
  for (const line of published) expect(names).toContain(line);
  const year = 365 * 24 * 3600 * 1000;
  for (const { method, path, url } of operations) {
    const { headers } = await fixture.api.call(method, url);
    const [deprecation, sunset] = [headers.get('deprecation'), headers.get('sunset')];
    const announced = document.paths[path][method.toLowerCase()].deprecated === true;
    // All three appear together, and the notice period is at least a year.
    expect([deprecation !== null, sunset !== null], path).toStrictEqual([announced, announced]);
    if (!announced) continue;
    const since = Number(deprecation?.slice(1)) * 1000;
    expect(Date.parse(sunset ?? '') - since, path).toBeGreaterThanOrEqual(year);
  }
});
