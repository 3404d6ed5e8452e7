import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { purgeReviews } from '../../src/product/operators/accessReviews.ts';
import { runHere } from '../cli/support.ts';
import { newOperator, outdateSignIns, signInOperator, type TestOperator } from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
  owner = await signInOperator(fixture);
});

type Row = { id: string; kind: string; account: string; [name: string]: unknown };
const readRows = async (): Promise<Row[]> => (await owner.get('access')).body.access;
const findRow = async (account: string) => (await readRows()).find((row) => row.account === account);

/** Starts a review and returns its path and rows. */
async function startReview(): Promise<{ path: string; id: string; rows: Row[] }> {
  const { id } = (await owner.post('access-reviews')).body;
  const path = `access-reviews/${id}`;
  return { path, id, rows: (await owner.get(path)).body.review.rows };
}
const confirm = (rows: readonly Row[], removed: readonly string[] = []) =>
  rows.map(({ id }) => ({ id, decision: removed.includes(id) ? 'remove' : 'confirmed' }));

describe('the access report', () => {
  test('has each operator with rights, sign-in, second factor, inviter and last use', async () => {
    const invited = await owner.post('invitations', {
      email: 'nora@example.test',
      role: 'operator',
      clients: [{ client_id: fixture.sandbox.client_id, role: 'read_only' }],
      may_reveal: true,
    });
    expect(await findRow('nora@example.test')).toMatchObject({
      kind: 'invitation',
      status: 'active',
      last_used_at: null,
    });
    const token = new URL(invited.body.invitation.link).hash.slice(1);
    const body = { token, name: 'Nora Example', password: 'the password of nora' };
    const accepted = await owner.post('/dashboard/api/invitations/accept', body, { cookie: null });
    expect(accepted.status).toBe(200);
    const row = await findRow('nora@example.test');
    expect(row).toMatchObject({
      kind: 'operator',
      name: 'Nora Example',
      status: 'active',
      rights: [`read_only in ${fixture.sandbox.client_id}`, 'can reveal patient details'],
      sign_in: ['password'],
      second_factor: [],
      created_by: fixture.sandbox.dashboard.email,
      invited_at: expect.any(String),
      last_sign_in_at: expect.any(String),
      last_used_at: expect.any(String),
    });
    await owner.patch(`operators/${row?.id}`, { disabled: true });
    expect((await findRow('nora@example.test'))?.status).toBe('disabled');
  });

  test('has each secret of a client with its rights, age and last use, and no secret itself', async () => {
    const path = 'clients/{client}/keys';
    const created = await owner.post(path, { label: 'Reporting', access: 'read_only', org_id: 'org-1' });
    const { client_secret } = created.body;
    const text = JSON.stringify(await readRows());
    const row = (await readRows()).find(({ label }) => String(label).startsWith('Reporting'));
    expect(row).toMatchObject({
      kind: 'client_secret',
      account: fixture.sandbox.client_id,
      label: `Reporting …${client_secret.slice(-4)}`,
      rights: ['read_only', 'only organization org-1'],
      created_by: fixture.sandbox.dashboard.email,
      last_used_at: null,
    });
    expect(text).not.toContain(client_secret);
    expect(text).not.toMatch(/hash|sealed/);
  });

  test('is for owners only, and its reading is recorded', async () => {
    const operator = await newOperator(fixture, 'operator');
    for (const path of ['access', 'access.csv', 'access-reviews']) {
      expect((await operator.get(path)).status, path).toBe(403);
    }
    const { headers } = await owner.get('access');
    const records = await fixture.owner`SELECT action FROM audit_records
      WHERE request_id = ${headers.get('x-request-id')}`;
    expect([...records]).toStrictEqual([{ action: 'dashboard.access.get' }]);
  });

  test('can be exported as CSV, in which a name cannot be a formula', async () => {
    const operator = await newOperator(fixture, 'support');
    await fixture.owner`UPDATE operators SET name = '=HYPERLINK("https://elsewhere.example.org")'
      WHERE email = ${operator.email}`;
    const { body, headers } = await owner.get('access.csv');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [head, ...lines] = String(body).split('\r\n');
    expect(head).toMatch(/^"kind","name","account".*"decision"$/);
    expect(lines.find((line) => line.includes(operator.email))).toContain(`"'=HYPERLINK(""https`);
  });
});

describe('a review', () => {
  test('stores what was shown, who attested it and each decision', async () => {
    const leaving = await newOperator(fixture, 'support');
    const { path, rows } = await startReview();
    // What changes afterwards is not part of the review.
    await newOperator(fixture, 'support');
    const note = 'Second quarter: “all” checked';
    const attested = await owner.post(`${path}/attest`, { decisions: confirm(rows, [leaving.id]), note });
    expect(attested.status).toBe(200);
    const { review } = (await owner.get(path)).body;
    expect(review).toMatchObject({
      attested_by: fixture.sandbox.dashboard.email,
      hash: attested.body.hash,
      intact: true,
      note,
      remaining: [leaving.id],
    });
    expect(review.rows).toStrictEqual(rows);
    expect(review.decisions[leaving.id]).toBe('remove');
    // The hash can be computed from an export.
    const content = JSON.stringify({ rows: review.rows, decisions: review.decisions, note: review.note });
    expect(createHash('sha256').update(content).digest('hex')).toBe(review.hash);
    const [record] = await fixture.owner<{ detail: object }[]>`SELECT detail FROM audit_records
      WHERE action = 'dashboard.access-reviews.attest' ORDER BY id DESC LIMIT 1`;
    expect(record?.detail).toStrictEqual({ hash: review.hash, rows: rows.length, to_remove: 1 });
    const csv = String((await owner.get(`${path}/rows.csv`)).body);
    expect(csv.split('\r\n').find((line) => line.includes(leaving.email))).toMatch(/"remove"$/);
    // Once the access is removed, nothing remains to be done.
    await owner.patch(`operators/${leaving.id}`, { disabled: true });
    expect((await owner.get(path)).body.review.remaining).toStrictEqual([]);
  });

  test('is attested once, and never changed or discarded afterwards', async () => {
    const { path, rows } = await startReview();
    const body = { decisions: confirm(rows) };
    const both = await Promise.all([owner.post(`${path}/attest`, body), owner.post(`${path}/attest`, body)]);
    expect(both.map(({ status }) => status).sort()).toStrictEqual([200, 409]);
    expect((await owner.delete(path)).body.code).toBe('review_attested');
    await purgeReviews(fixture.ctx.db.system);
    expect((await owner.get(path)).status).toBe(200);
  });

  test('needs a decision for every row, and none for others', async () => {
    const { path, rows } = await startReview();
    const decisions = confirm(rows);
    const stranger = { id: '0'.repeat(32), decision: 'confirmed' };
    for (const wrong of [decisions.slice(1), [...decisions, stranger], [...decisions.slice(1), stranger]]) {
      const { status, body } = await owner.post(`${path}/attest`, { decisions: wrong });
      expect([status, body.field]).toStrictEqual([400, 'decisions']);
    }
    const repeated = [...decisions, { id: rows[0]?.id, decision: 'remove' }];
    expect((await owner.post(`${path}/attest`, { decisions: repeated })).status).toBe(400);
    expect((await owner.get(path)).body.review.attested_at).toBeNull();
  });

  test('needs a fresh sign-in', async () => {
    const { path, rows } = await startReview();
    await outdateSignIns(fixture, fixture.sandbox.dashboard.email);
    const { body } = await owner.post(`${path}/attest`, { decisions: confirm(rows) });
    expect(body.code).toBe('operator_sign_in_again');
  });

  test('shows that it was changed in the database', async () => {
    const { path, id, rows } = await startReview();
    await owner.post(`${path}/attest`, { decisions: confirm(rows, [rows[0]?.id ?? '']) });
    await fixture.owner`UPDATE access_reviews SET decisions = replace(decisions, 'remove', 'confirmed')
      WHERE id = ${id}`;
    expect((await owner.get(path)).body.review.intact).toBe(false);
    const { code, stderr } = await runHere(['operators', 'review', '--id', id], fixture.env);
    expect([code, stderr]).toStrictEqual([1, expect.stringContaining('no longer has its hash')]);
  });

  test('can be discarded until it is attested, and is deleted after 30 days', async () => {
    const first = await startReview();
    expect((await owner.delete(first.path)).status).toBe(200);
    expect((await owner.get(first.path)).status).toBe(404);
    const second = await startReview();
    await fixture.owner`UPDATE access_reviews SET started_at = now() - interval '31 days' WHERE id = ${second.id}`;
    await purgeReviews(fixture.ctx.db.system);
    expect((await owner.get(second.path)).status).toBe(404);
  });
});

describe('the command', () => {
  const run = (...args: string[]) => runHere(['operators', 'review', ...args], fixture.env);

  test('prints the report as a table, as JSON and as CSV, and records it', async () => {
    const { stdout } = await run('--json');
    const accounts = JSON.parse(stdout).rows.map(({ account }: Row) => account);
    expect(accounts).toContain(fixture.sandbox.dashboard.email);
    expect(accounts).toContain(fixture.sandbox.client_id);
    expect((await run('--csv')).stdout).toMatch(/^"kind","name","account"/);
    expect((await run()).stdout).toContain(fixture.sandbox.dashboard.email);
    const [record] = await fixture.owner`SELECT actor, outcome FROM audit_records
      WHERE action = 'operator.review' ORDER BY id DESC LIMIT 1`;
    expect(record).toStrictEqual({ actor: 'command line', outcome: 'shown' });
  });

  test('prints past reviews', async () => {
    const { path, id, rows } = await startReview();
    const { hash } = (await owner.post(`${path}/attest`, { decisions: confirm(rows) })).body;
    const { reviews } = JSON.parse((await run('--list', '--json')).stdout);
    expect(reviews).toContainEqual(expect.objectContaining({ id, hash }));
    expect(JSON.parse((await run('--id', id, '--json')).stdout)).toMatchObject({ id, hash, intact: true });
    expect((await run('--id', id, '--csv')).stdout).toContain('"confirmed"');
  });

  test('explains wrong options', async () => {
    expect((await run('--id', 'x')).stderr).toBe(
      '--id must be the ID of a review. See: chartwire operators review --list\n',
    );
    expect((await run('--json', '--csv')).stderr).toBe('Use either --json or --csv.\n');
  });
});
