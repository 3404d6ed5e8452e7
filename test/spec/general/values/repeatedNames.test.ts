import { afterAll, beforeAll, expect, test } from 'vitest';
import { row } from '../../../harness/row.ts';
import { startSandbox, type TestSandbox } from '../../../harness/sandbox.ts';
import { countRows } from '../../../journeys/support.ts';
import type { Row } from '../../support/emrRecords.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

async function send(method: string, path: string, text: string) {
  const { client_id, client_secret, access_token, base_url } = fixture.sandbox;
  const headers = { client_id, client_secret, access_token, 'content-type': 'application/json' };
  const response = await fetch(base_url + path, { method, headers, body: text });
  return { status: response.status, body: (await response.json()) as Row };
}

test(row('ATT-08'), async () => {
  const before = await countRows(fixture.owner);
  const repeated: [string, string, string, string][] = [
    ['POST', '/v1/referrals', '{"patient_mrn":"LK100001","reason":"a","patient_mrn":"LK100002"}', 'patient_mrn'],
    ['POST', '/v1/referrals', '{"documents":[{},{"filename":"a","filename":"b"}]}', 'documents[1].filename'],
    ['POST', '/v1/appointments', '{"mrn":"LK100001","\\u006drn":"LK100002"}', 'mrn'],
    ['POST', '/v1/patients', '{"first_name":"a","first_name":"a"}', 'first_name'],
    ['POST', '/v1/patients/LK100001/insurances', '{"a":{"b":[[{"c":1,"d":{},"c":2}]]}}', 'a.b[0][0].c'],
    ['PATCH', '/v1/webhook/x', '{"__proto__":1,"__proto__":2}', '__proto__'],
  ];
  for (const [method, path, text, field] of repeated) {
    const { status, body } = await send(method, path, text);
    expect({ status, message: body.message, field: body.field }, text).toMatchObject({
      status: 400,
      message: `${field} must be sent only once`,
      field,
    });
  }
  for (const path of ['/v1/referrals', '/v1/appointments', '/v1/sync', '/link/token/create']) {
    for (const text of ['null', ' null ', '[]', '"text"']) {
      const { status, body } = await send('POST', path, text);
      expect({ status, message: body.message }, `${path} ${text}`).toMatchObject({
        status: 400,
        message: 'Request body must be a JSON object.',
      });
    }
  }
  expect(await countRows(fixture.owner)).toStrictEqual(before);
  // Equal names in different objects, and names in texts, are not repeated.
  const { status, body } = await send('POST', '/v1/sync', '{"a":{"b":1},"c":{"b":"\\"b\\":1,{"}}');
  expect({ status, code: body.code }).toStrictEqual({ status: 400, code: 'unexpected_fields' });
});
