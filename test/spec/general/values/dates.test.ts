import { beforeAll, expect, test } from 'vitest';
import type { Endpoint } from '../../../../src/http/endpoint.ts';
import { composeExamples } from '../../../../src/http/openapi/describeOperation.ts';
import { endpoints } from '../../../../src/surfaces/api/endpoints.ts';
import { row } from '../../../harness/row.ts';
import type { TestSandbox } from '../../../harness/sandbox.ts';
import { sharedSandbox } from '../../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const wrong: Record<string, readonly string[]> = {
  date: ['0000-01-01', '2026-02-30'],
  'date-time': ['0000-01-01T00:00:00Z', '2026-01-01T00:00:00Z[America/New_York]', '2026-02-30T00:00:00Z'],
};

const readFormat = (schema: unknown) => (schema as { format?: string }).format ?? '';
const listDates = (schema: Endpoint['query']) =>
  Object.entries(schema?.properties ?? {}).filter(([, field]) => readFormat(field) in wrong);

test(row('VAL-10'), async () => {
  let sent = 0;
  for (const endpoint of endpoints) {
    const { params, query, body } = composeExamples(endpoint);
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(params[name])));
    const call = async (parts: { query: object; body: object | undefined }, field: string) => {
      const search = new URLSearchParams(parts.query as Record<string, string>);
      const options = parts.body ? { body: parts.body } : {};
      const response = await fixture.api.call(endpoint.method, `${path}?${search}`, options);
      expect(response, `${endpoint.id} ${field}`).toMatchObject({ status: 400, body: { field } });
      sent += 1;
    };
    for (const [field, schema] of listDates(endpoint.query)) {
      for (const value of wrong[readFormat(schema)] ?? [])
        await call({ query: { ...query, [field]: value }, body }, field);
    }
    if (endpoint.file_field) continue;
    for (const [field, schema] of listDates(endpoint.body)) {
      for (const value of wrong[readFormat(schema)] ?? [])
        await call({ query, body: { ...body, [field]: value } }, field);
    }
  }
  expect(sent).toBeGreaterThan(30);
});
