import { randomUUID } from 'node:crypto';
import { beforeAll, expect, expectTypeOf, test } from 'vitest';
import { Chartwire } from '../../../sdk/src/client.ts';
import { CursorExpiredError } from '../../../sdk/src/errors.ts';
import type { Change, DryRun, PatientsCreateResponse } from '../../../sdk/src/generated/types.gen.ts';
import type { Document } from '../../../src/http/openapi/document.ts';
import { documents } from '../../harness/documents.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';

let fixture: TestSandbox;
let client: Chartwire;
beforeAll(async () => {
  fixture = await sharedSandbox();
  const { base_url: baseUrl, client_id, client_secret, access_token } = fixture.sandbox;
  client = new Chartwire({ baseUrl, clientId: client_id, clientSecret: client_secret, accessToken: access_token });
});

const person = () => ({
  first_name: 'Sdk',
  last_name: `Testpatient${randomUUID().replace(/[^a-z]/g, '')}`,
  dob: '1990-01-31',
  sex: 'female' as const,
  phone: '315-555-0142',
});

test(row('DRY-11'), async () => {
  const body = person();
  const checked = await client.patients.create(body, { dryRun: true });
  expectTypeOf(checked).toEqualTypeOf<DryRun>();
  expect(checked).toStrictEqual({
    ...{ success: true, dry_run: true, emr_checked: true },
    would: [{ action: 'create', resource: 'patient', reasons: [] }],
  });
  expect((await client.patients.list({ last_name: body.last_name })).patients).toStrictEqual([]);
  const created = await client.patients.create(body, { idempotencyKey: randomUUID() });
  expectTypeOf(created).toEqualTypeOf<PatientsCreateResponse>();
  await client.jobs.wait(created.job_id);
  const update = await client.patients.update(created.patient_id, { phone: '315-555-0177' }, { dryRun: true });
  expect(update.would).toMatchObject([{ action: 'update', field: 'phone', after: '315-555-0177' }]);
  const document = { folder_name: 'Dry', patient_mrn: fixture.sandbox.example.patient_mrn, document: documents.pdf };
  expect((await client.documents.create(document, { dryRun: true })).would).toMatchObject([{ resource: 'document' }]);
  const published: Document = (await fixture.api.call('GET', '/openapi.json')).body;
  const taking = Object.values(published.paths)
    .flatMap((item) => Object.values(item))
    .filter(({ parameters }) => parameters.some(({ name }) => name === 'dry_run'));
  expect(taking.length).toBeGreaterThan(15);
  for (const { operationId, responses } of taking) {
    const schema = responses['200']?.content?.['application/json']?.schema;
    const refs = [schema, ...(schema?.anyOf ?? [])].map((each) => each?.$ref);
    expect(refs, operationId).toContain('#/components/schemas/DryRun');
  }
});

test(row('CHG-16'), async () => {
  const all = new Map<string, Change>();
  let saved: string | undefined;
  const follow = (options: object) =>
    client.changes.follow({ kinds: ['patients'], limit: 50, untilCurrent: true, ...options });
  const cursors: string[] = [];
  const saveCursor = (cursor: string) => {
    cursors.push(cursor);
    saved = cursor;
  };
  for await (const change of follow({ saveCursor })) all.set(change.id, change);
  expect(all.size).toBeGreaterThan(150);
  expect(cursors.length).toBeGreaterThan(3);
  const listed: string[] = [];
  for await (const change of client.changes.list({ kinds: 'patients', limit: 50 })) listed.push(change.id);
  expect(new Set(listed)).toStrictEqual(new Set(all.keys()));

  const created = await client.patients.createAndWait(person());
  // A loop that ends within a page does not save the cursor of that page: the change appears again. Pages without
  // changes may come before it, and save theirs. The feed waits for transactions of other tests.
  let before: string | undefined;
  for await (const change of follow({ cursor: saved, saveCursor, untilCurrent: false, pollMs: 50 })) {
    if (change.id !== created.data.patient_id) continue;
    before = saved;
    break;
  }
  expect(before).toBeDefined();
  expect(saved).toBe(before);
  const again: string[] = [];
  for await (const change of follow({ cursor: saved, saveCursor })) again.push(change.id);
  expect(again).toContain(created.data.patient_id);
  expect(saved).not.toBe(before);

  const stopped = new AbortController();
  const waiting = (async () => {
    const seen: string[] = [];
    const options = { cursor: saved, kinds: 'patients', untilCurrent: false, pollMs: 50, signal: stopped.signal };
    for await (const change of follow(options)) {
      seen.push(change.id);
      stopped.abort(new Error('enough'));
    }
    return seen;
  })();
  const [later] = await Promise.all([
    client.patients.createAndWait(person()),
    expect(waiting).rejects.toThrow('enough'),
  ]);
  expect(later.type).toBe('patient.created');

  // As after a restore of the database.
  const [added] = await fixture.owner<{ generation: number }[]>`
    INSERT INTO change_generations (generation, system_identifier)
    SELECT max(generation) + 1, max(system_identifier) FROM change_generations RETURNING generation`;
  const expired = await follow({ cursor: saved })
    .next()
    .catch((error: unknown) => error);
  await fixture.owner`DELETE FROM change_generations WHERE generation = ${added?.generation ?? 0}`;
  expect(expired).toBeInstanceOf(CursorExpiredError);
  expect(expired).toMatchObject({ code: 'cursor_expired', status: 410 });
});
