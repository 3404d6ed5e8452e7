import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { record_kinds } from '../../src/model/records/kinds.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { expectApiError, expectSchema } from './support.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture.close());

const get = (path: string) => fixture.api.call('GET', path);

test('rows contain every value that a filter compares', async () => {
  const empty: string[] = [];
  for (const { name, filters } of record_kinds) {
    for (const column of new Set(Object.values(filters).flatMap(({ columns }) => columns))) {
      const [row] = await fixture.owner`
        SELECT FROM ${fixture.owner(name)} WHERE ${fixture.owner(column)} IS NOT NULL LIMIT 1`;
      if (!row) empty.push(`${name}.${column}`);
    }
  }
  expect(empty, 'columns that no row function fills').toStrictEqual([]);
});

describe('lists of records', () => {
  test.each([
    ['providers', 8],
    ['locations', 3],
    ['staff', 12],
    ['pharmacies', 15],
  ])('GET /v1/%s returns all %i records, each with every field', async (kind, count) => {
    const response = await get(`/v1/${kind}`);
    expectSchema(`${kind}.list`, response);
    expect(Object.keys(response.body)).toStrictEqual(['success', kind]);
    const records: Record<string, unknown>[] = response.body[kind];
    expect(records).toHaveLength(count);
    const fields = Object.keys(records[0] ?? {}).sort();
    for (const record of records) {
      expect(record.id).toMatch(/^[0-9a-f]{32}$/);
      expect(Object.keys(record).sort()).toStrictEqual(fields);
    }
    expect(new Set(records.map((record) => record.id)).size).toBe(count);
    expect(new Set(records.map((record) => record.ehr_id)).size).toBe(count);
  });

  test('a provider has exactly the fields of the specification, with facility names', async () => {
    const { providers } = (await get('/v1/providers')).body;
    const fields = ['id', 'ehr_id', 'name', 'npi', 'timezone', 'status', 'hide_in_availability', 'hours'];
    expect(Object.keys(providers[0])).toStrictEqual(fields);
    const shifts = providers.flatMap((provider: { hours: { shifts: object[] }[] }) =>
      provider.hours.flatMap((day) => day.shifts),
    );
    expect(shifts.length).toBeGreaterThan(0);
    const locations = (await get('/v1/locations')).body.locations;
    const names = new Map(locations.map((each: { ehr_id: string; name: string }) => [each.ehr_id, each.name]));
    for (const shift of shifts) {
      expect(shift.start).toMatch(/^T\d\d:\d\d:\d\d$/);
      expect(shift.end).toMatch(/^T\d\d:\d\d:\d\d$/);
      if (shift.facility_id !== undefined) expect(shift.facility_name).toBe(names.get(shift.facility_id));
    }
  });

  test('a list without records is empty', async () => {
    await fixture.owner`DELETE FROM pharmacies`;
    expect((await get('/v1/pharmacies')).body).toStrictEqual({ success: true, pharmacies: [] });
  });
});

describe('tables of records', () => {
  test.each(record_kinds.map((kind) => [kind.name, kind] as const))(
    '%s has the columns and triggers that its kind declares, and row-level security',
    async (name, kind) => {
      const rows = await fixture.owner<{ column_name: string }[]>`
        SELECT column_name FROM information_schema.columns WHERE table_name = ${name}`;
      const filtered = Object.values(kind.filters).flatMap(({ columns }) => columns);
      const sorted = kind.order.map(({ column }) => column);
      const declared = [...filtered, ...sorted, ...kind.kept_columns, kind.mrn_column ?? 'id'];
      expect(rows.map((row) => row.column_name)).toEqual(expect.arrayContaining(declared));
      const triggers = await fixture.owner`SELECT FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE tgrelid = ${name}::text::regclass AND proname IN ('count_records', 'uncount_records')`;
      expect(triggers).toHaveLength(kind.counted ? 2 : 0);
      const searched = Object.values(kind.filters).some(({ match }) => match === 'contains');
      const named = await fixture.owner`SELECT FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
        WHERE tgrelid = ${name}::text::regclass AND proname IN (${`${name}_named`}, 'remove_name_suffixes')`;
      expect(named, 'triggers for the suffixes of names').toHaveLength(searched ? 3 : 0);
      const [table] = await fixture.owner`SELECT relrowsecurity AND relforcerowsecurity AS forced FROM pg_class
        WHERE oid = ${name}::text::regclass`;
      expect(table?.forced).toBe(true);
    },
  );
});

describe('patients', () => {
  const names = async (query: string): Promise<string[]> => {
    const response = await get(`/v1/patients?${query}`);
    expectSchema('patients.list', response);
    expect(response.body.pagination.total_count).toBe(response.body.patients.length);
    return response.body.patients.map(
      (each: { first_name: string; last_name: string }) => `${each.first_name} ${each.last_name}`,
    );
  };

  beforeAll(async () => {
    for (const [firstName, lastName, extra] of [
      ['Zoë', 'Müller-Ångström', { homePhone: '999-555-0100', cellPhone: '999-555-0101' }],
      ['ÉMILE', 'O’Neill', { homePhone: '999-555-0102' }],
      ['Per%cent', 'Under_score', {}],
      ['Back\\slash', "Zzz Quote's", {}],
    ] as const) {
      const added = await fixture.api.control('POST', '/control/patients', { firstName, lastName, ...extra });
      expect(added.status, JSON.stringify(added.body)).toBe(201);
    }
    const synced = await fixture.api.call('POST', '/v1/sync', { body: {} });
    expect((await fixture.api.untilEvent(synced.body.job_id)).event_type).toBe('sync.completed');
  });

  test('are listed with every field, 100 to a page by default', async () => {
    const response = await get('/v1/patients');
    expectSchema('patients.list', response);
    expect(Object.keys(response.body)).toStrictEqual(['success', 'patients', 'pagination']);
    expect(response.body.patients).toHaveLength(100);
    expect(response.body.pagination).toStrictEqual({
      page: 1,
      current_page: 1,
      page_size: 100,
      total_count: 204,
      total_pages: 3,
    });
  });

  test('are each on exactly one page, whatever the page size', async () => {
    const all = (await get('/v1/patients?page_size=1000')).body.patients;
    expect(all).toHaveLength(204);
    const paged = [];
    for (let page = 1; page <= 5; page += 1) {
      const { body } = await get(`/v1/patients?page_size=50&page=${page}`);
      const pagination = { page, current_page: page, page_size: 50, total_count: 204, total_pages: 5 };
      expect(body.pagination).toStrictEqual(pagination);
      paged.push(...body.patients);
    }
    expect(paged).toStrictEqual(all);
  });

  test('a page after the last one is empty', async () => {
    for (const page of [4, 1_000_000]) {
      const { body } = await get(`/v1/patients?page=${page}`);
      expect(body.patients).toStrictEqual([]);
      expect(body.pagination).toStrictEqual({
        page,
        current_page: page,
        page_size: 100,
        total_count: 204,
        total_pages: 3,
      });
    }
    const none = (await get('/v1/patients?mrn=nobody')).body;
    expect(none.patients).toStrictEqual([]);
    expect(none.pagination).toMatchObject({ total_count: 0, total_pages: 0 });
  });

  test.each([
    ['page=0', 'page must be at least 1'],
    ['page=-1', 'page must be at least 1'],
    ['page_size=0', 'page_size must be at least 1'],
    ['page_size=1001', 'page_size must be at most 1000'],
    ['page=1000001', 'page must be at most 1000000'],
  ])('rejects %s', async (query, message) => {
    expectApiError(await get(`/v1/patients?${query}`), 400, message, query.split('=')[0]);
  });

  test('accepts page_size=1000 and page_size=1', async () => {
    expect((await get('/v1/patients?page_size=1000')).status).toBe(200);
    expect((await get('/v1/patients?page_size=1')).body.pagination.total_pages).toBe(204);
  });

  test('are found by any part of a name, regardless of case and accents', async () => {
    for (const part of ['müller', 'MULLER', 'ller-Ang', 'angstrom', 'Ångström', 'A\u030angstro\u0308m']) {
      expect(await names(`last_name=${encodeURIComponent(part)}`)).toStrictEqual(['Zoë Müller-Ångström']);
    }
    for (const part of ['emile', 'Émile', 'MIL']) {
      expect(await names(`last_name=neill&first_name=${encodeURIComponent(part)}`)).toStrictEqual(['ÉMILE O’Neill']);
    }
    expect(await names('first_name=zoe&last_name=neill')).toStrictEqual([]);
  });

  test('%, _ and \\ in a name are not wildcards', async () => {
    expect(await names('first_name=%25')).toStrictEqual(['Per%cent Under_score']);
    expect(await names('last_name=_')).toStrictEqual(['Per%cent Under_score']);
    expect(await names('first_name=%5C')).toStrictEqual(["Back\\slash Zzz Quote's"]);
    expect(await names("last_name=quote's")).toStrictEqual(["Back\\slash Zzz Quote's"]);
    expect(await names('first_name=P_r')).toStrictEqual([]);
  });

  test('are found by exact MRN, EMR id and date of birth', async () => {
    const [patient] = (await get(`/v1/patients?mrn=${fixture.sandbox.example.patient_mrn}`)).body.patients;
    expect(patient.mrn).toBe(fixture.sandbox.example.patient_mrn);
    expect((await get(`/v1/patients?ehr_id=${patient.ehr_id}`)).body.patients).toStrictEqual([patient]);
    expect((await get(`/v1/patients?mrn=${patient.mrn.slice(0, -1)}`)).body.patients).toStrictEqual([]);
    const born = (await get(`/v1/patients?dob=${patient.dob}`)).body.patients;
    expect(born).toContainEqual(patient);
    expect(born.every((each: { dob: string }) => each.dob === patient.dob)).toBe(true);
  });

  test.each(['1990-02-30', '01/02/1990', '1990', '1990-1-2', '1990-01-02T25:00:00Z', ''])(
    'rejects dob=%s',
    async (dob) => {
      expectApiError(await get(`/v1/patients?dob=${encodeURIComponent(dob)}`), 400, /^dob must be a date/, 'dob');
    },
  );

  test('requests that arrive together each get their own page, and an audit record of the patients on it', async () => {
    const { patients } = (await get('/v1/patients?page_size=12')).body as { patients: { mrn: string; dob: string }[] };
    const paths = patients.flatMap(({ mrn, dob }, n) => [
      `/v1/patients?mrn=${mrn}`,
      `/v1/patients?dob=${dob}&mrn=${mrn}`,
      `/v1/patients?page_size=1&page=${n + 1}`,
      '/v1/patients?mrn=UNKNOWN',
    ]);
    const responses = await Promise.all(paths.map(get));
    const mrns = responses.map(({ body }) => body.patients.map(({ mrn }: { mrn: string }) => mrn));
    expect(mrns).toStrictEqual(patients.flatMap(({ mrn }) => [[mrn], [mrn], [mrn], []]));
    for (const { body } of responses) expect(body.pagination.page_size).toBe(body.pagination.total_count > 1 ? 1 : 100);
    const recorded = await fixture.owner<{ request_id: string; patients: number }[]>`
      SELECT request_id, cardinality(patients) AS patients FROM audit_records
       WHERE request_id = ANY (${responses.map(({ headers }) => headers.get('x-request-id') ?? '')}::uuid[])`;
    const counts = new Map(recorded.map((each) => [each.request_id.replaceAll('-', ''), each.patients]));
    // The MRN that was searched for is recorded too, whether or not a patient has it.
    expect(responses.map(({ headers }) => counts.get(headers.get('x-request-id') ?? ''))).toStrictEqual(
      paths.map(() => 1),
    );
  });

  test('the planner knows them after the first sync', async () => {
    const analyzed = await fixture.owner<{ n: number }[]>`
      SELECT count(DISTINCT attname) AS n FROM pg_stats WHERE tablename = 'patients' AND attname IN ('mrn', 'client_id')`;
    expect(analyzed[0]?.n).toBe(2);
  });

  test('are found by home phone and by cell phone', async () => {
    expect(await names('phone=999-555-0100')).toStrictEqual(['Zoë Müller-Ångström']);
    expect(await names('phone=999-555-0101')).toStrictEqual(['Zoë Müller-Ångström']);
    expect(await names('phone=999-555-0102')).toStrictEqual(['ÉMILE O’Neill']);
    expect(await names('phone=999-555-0109999')).toStrictEqual([]);
  });
});

describe('a job and its events', () => {
  test('have every field of the reference, before and after the job finishes', async () => {
    const accepted = await fixture.api.callIn({ reason: 'Read me' });
    expectSchema('jobs.get', await get(`/v1/jobs/${accepted.body.job_id}`));
    const event = await fixture.api.untilEvent(accepted.body.job_id);
    const job = await get(`/v1/jobs/${accepted.body.job_id}`);
    expectSchema('jobs.get', job);
    const { success, job: nested, ...flat } = job.body;
    expect(success).toBe(true);
    expect(flat).toStrictEqual(nested);
    expect(nested).toMatchObject({
      job_id: accepted.body.job_id,
      type: 'telephone_encounter.create',
      status: 'succeeded',
      attempts: 1,
      error: null,
      event_id: event.id,
    });
    const listed = await get(`/v1/webhook-events?job_id=${accepted.body.job_id}`);
    expectSchema('webhook-events.list', listed);
    expect(listed.body.webhook_events).toHaveLength(1);
    expect(listed.body.pagination).toStrictEqual({
      page: 1,
      current_page: 1,
      page_size: 50,
      total_count: 1,
      total_pages: 1,
    });
  });

  test('are filtered by type, delivery status and day, and paged', async () => {
    const first = await fixture.api.callIn({ reason: 'Filtered' });
    await fixture.api.untilEvent(first.body.job_id);
    const of = async (query: string) => {
      const response = await get(`/v1/webhook-events?${query}`);
      expectSchema('webhook-events.list', response);
      return response.body;
    };
    // Not today: the day may change while this test runs.
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    const all = await of('page_size=100');
    expect(all.webhook_events.length).toBeGreaterThan(1);
    const created = await of('event_type=telephone_encounter.created');
    expect(created.webhook_events.every((each: { type: string }) => each.type === 'telephone_encounter.created')).toBe(
      true,
    );
    expect((await of('delivery_status=failed')).webhook_events).toStrictEqual([]);
    const around = await of(`start_date=${inDays(-1)}&end_date=${inDays(1)}`);
    expect(around.pagination.total_count).toBe(all.pagination.total_count);
    expect((await of(`start_date=${inDays(2)}`)).webhook_events).toStrictEqual([]);
    expect((await of(`end_date=${inDays(-2)}`)).webhook_events).toStrictEqual([]);
    const paged = [];
    for (let page = 1; page <= all.pagination.total_count; page += 1) {
      paged.push(...(await of(`page_size=1&page=${page}`)).webhook_events);
    }
    expect(paged).toStrictEqual(all.webhook_events);
  });

  test('can be resent for 30 days; an unknown event is 404', async () => {
    const accepted = await fixture.api.callIn({ reason: 'Resent' });
    const { id } = await fixture.api.untilEvent(accepted.body.job_id);
    const resend = (name: string) => fixture.api.call('POST', `/v1/webhook-events/${name}/resend`, { body: {} });
    const response = await resend(id);
    expectSchema('webhook-events.resend', response);
    expect(response.body).toStrictEqual({ success: true, message: expect.any(String), event_id: id, deliveries: 0 });
    for (const name of ['nonsense', '0'.repeat(32), '1']) {
      expectApiError(await resend(name), 404, `Event with ID '${name}' not found.`);
    }
    await fixture.owner`UPDATE events SET created_at = now() - interval '31 days' WHERE id = ${id}`;
    expectApiError(await resend(id), 404, `Event with ID '${id}' not found.`);
    expect((await get(`/v1/webhook-events?job_id=${accepted.body.job_id}`)).body.webhook_events).toStrictEqual([]);
  });

  test('an unknown job is 404 and has no events; a job_id that is not a number is rejected', async () => {
    const none = await get('/v1/webhook-events?job_id=999999');
    expect(none.status).toBe(200);
    expect(none.body).toMatchObject({ success: true, webhook_events: [], pagination: { total_count: 0 } });
    for (const job_id of ['abc', '1.5', '', '1 OR 1=1']) {
      const response = await get(`/v1/webhook-events?job_id=${encodeURIComponent(job_id)}`);
      expectApiError(response, 400, 'job_id must be an integer', 'job_id');
    }
    expectApiError(await get('/v1/jobs/999999'), 404, "Job with ID '999999' not found.", 'job_id');
  });

  test.each([
    ['page_size=101', 'page_size must be at most 100'],
    ['page=0', 'page must be at least 1'],
    ['delivery_status=lost', 'delivery_status must be one of: success, failed, pending'],
    ['start_date=yesterday', 'start_date must be a date (YYYY-MM-DD) or an ISO 8601 date-time.'],
    ['end_date=2026-02-30', 'end_date must be a date (YYYY-MM-DD) or an ISO 8601 date-time.'],
  ])('rejects /v1/webhook-events?%s', async (query, message) => {
    expectApiError(await get(`/v1/webhook-events?${query}`), 400, message, query.split('=')[0]);
  });
});
