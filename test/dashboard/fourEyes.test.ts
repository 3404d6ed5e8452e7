import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { FourEyesAction } from '../../src/catalog/fourEyes.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import { cancelRestoredApprovals, expireApprovals, purgeApprovals } from '../../src/product/operators/approvals.ts';
import { newClient, type OtherClient } from '../api/support.ts';
import { runHere } from '../cli/support.ts';
import {
  newOperator,
  outdateSignIns,
  sendAnonymously,
  signInOperator,
  type TestOperator,
} from '../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { operator_endpoints } from './walkEndpoints.ts';

let fixture: TestSandbox;
let ada: TestOperator & { id: string; email: string; password: string };
let ben: typeof ada;
beforeAll(async () => {
  fixture = await startSandbox({ small: true, env: { FOUR_EYES_HOURS: '2' } });
});
afterAll(() => fixture?.close());
beforeEach(async () => {
  await fixture.owner`DELETE FROM sign_in_attempts`;
  requireFor();
  // Each test has its own owners: `ada` requests, `ben` approves.
  ada = await newOperator(fixture, 'owner');
  ben = await newOperator(fixture, 'owner');
});

/** Which actions need a second person from now on. */
function requireFor(...actions: FourEyesAction[]): void {
  fixture.ctx.config = { ...fixture.ctx.config, four_eyes: actions };
}

type Approval = { id: string; content_hash: string; state: string; [name: string]: unknown };
const list = async (operator: TestOperator): Promise<Approval[]> => (await operator.get('approvals')).body.approvals;

/** The approval that the operator has requested last. */
async function findOwn(operator: TestOperator): Promise<Approval> {
  const [newest] = (await list(operator)).filter(({ own }) => own);
  if (!newest) throw new Error('Nothing was requested.');
  return newest;
}

const decide = (operator: TestOperator, { id, content_hash }: Approval, what: 'approve' | 'refuse' = 'approve') =>
  operator.post(`approvals/${id}/${what}`, { content_hash });
const run = (operator: TestOperator, { id }: Approval) => operator.post(`approvals/${id}/run`);

async function expectWaiting(response: { status: number; body: { code?: string; message?: string } }): Promise<void> {
  expect([response.status, response.body.code]).toStrictEqual([409, 'approval_required']);
  expect(response.body.message).toMatch(/^A second person must approve this\. It waits under Approvals until /);
}

/** An erasure of a client, requested by `ada`. */
async function requestErasure(): Promise<{ client: OtherClient; approval: Approval; exists: () => Promise<boolean> }> {
  requireFor('erasure');
  const client = await newClient(fixture);
  await expectWaiting(await ada.post(`clients/${client.client_id}/erase`, { dry_run: false }));
  const exists = async () =>
    (await fixture.owner`SELECT FROM clients WHERE public_id = ${client.client_id}`).length > 0;
  return { client, approval: await findOwn(ada), exists };
}

async function readRecords(action: string, subject?: string) {
  return fixture.owner<{ actor: string; outcome: string; detail: Record<string, unknown> }[]>`
    SELECT actor, outcome, detail FROM audit_records
     WHERE action = ${action} AND (${subject ?? null}::text IS NULL OR subject = ${subject ?? null}) ORDER BY id`;
}

const firstAccount = async () => {
  const [row] = await fixture.owner<{ id: string }[]>`SELECT id FROM accounts
    WHERE client_id = (SELECT id FROM clients WHERE public_id = ${fixture.sandbox.client_id}) LIMIT 1`;
  return row?.id ?? '';
};

test('exactly these endpoints can need a second person', () => {
  const declared = operator_endpoints.flatMap(({ id, second_person, fresh_sign_in }) =>
    second_person
      ? [[id.replace('dashboard.', ''), second_person.action, second_person.returns_secret === true, fresh_sign_in]]
      : [],
  );
  expect(declared.sort()).toStrictEqual([
    ['accounts.reveal', 'credentials', true, true],
    ['accounts.rotate', 'credentials', true, true],
    ['clients.erase', 'erasure', false, true],
    ['clients.keys.create', 'credentials', true, true],
    ['clients.legal-holds.lift', 'erasure', false, true],
    ['clients.retention.update', 'erasure', false, true],
    ['invitations.create', 'owners', true, true],
    ['operators.reset', 'owners', true, true],
    ['operators.update', 'owners', false, true],
    ['organizations.erase', 'erasure', false, true],
    ['patients.erase', 'erasure', false, true],
    ['receiver.create', 'webhooks', false, undefined],
    ['webhooks.create', 'webhooks', true, true],
    ['webhooks.rotate', 'webhooks', true, true],
    ['webhooks.update', 'webhooks', false, true],
  ]);
});

test('without the setting, actions run at once and nothing is requested', async () => {
  const client = await newClient(fixture);
  expect((await ada.post(`clients/${client.client_id}/erase`, { dry_run: false })).status).toBe(200);
  expect((await ada.get('session')).body.session.four_eyes).toBe(false);
  expect((await list(ada)).filter(({ own }) => own)).toStrictEqual([]);
});

test('the setting accepts the names of the actions only', () => {
  const load = (value: string) => loadConfig({ ...fixture.env, FOUR_EYES: value }).four_eyes;
  expect(load('erasure, webhooks,erasure')).toStrictEqual(['erasure', 'webhooks']);
  expect(() => load('everything')).toThrow('FOUR_EYES must be one of erasure, credentials, webhooks, owners');
});

describe('an erasure', () => {
  test('is requested, and runs when another owner approves it', async () => {
    const { client, approval, exists } = await requestErasure();
    expect(approval).toMatchObject({
      action: 'erasure',
      summary: expect.stringContaining('Erase an application'),
      client: { client_id: client.client_id },
      content: [{ name: 'dry_run', value: 'false' }],
      state: 'pending',
      can_decide: false,
    });
    expect(await exists()).toBe(true);
    const seen = (await list(ben)).find(({ id }) => id === approval.id);
    expect(seen).toMatchObject({ requested_by: ada.email, can_decide: true, content_hash: approval.content_hash });
    const approved = await decide(ben, approval);
    expect([approved.status, approved.body]).toStrictEqual([200, { success: true, executed: true }]);
    expect(await exists()).toBe(false);
    expect((await findOwn(ada)).state).toBe('executed');
    const [erased] = await readRecords('dashboard.clients.erase', client.id);
    expect(erased).toMatchObject({
      actor: ada.email,
      outcome: '200',
      detail: { erased: 'client', approval: approval.id, approved_by: ben.email, content_hash: approval.content_hash },
    });
    const [requested] = await readRecords('approval.request', approval.id);
    expect(requested).toMatchObject({ actor: ada.email, detail: { content_hash: approval.content_hash } });
    const [decided] = await readRecords('dashboard.approvals.approve', approval.id);
    expect(decided).toMatchObject({ actor: ben.email, outcome: '200', detail: { requested_by: ada.email } });
  });

  test('is counted without an approval', async () => {
    requireFor('erasure');
    const client = await newClient(fixture);
    expect((await ada.post(`clients/${client.client_id}/erase`, { dry_run: true })).status).toBe(200);
  });

  test('needs an approval for a practice and a patient too', async () => {
    requireFor('erasure');
    const [row] = await fixture.owner<{ id: string; organization_id: string }[]>`
      SELECT id, organization_id FROM patients LIMIT 1`;
    const path = `clients/{client}/organizations/${row?.organization_id}`;
    await expectWaiting(await ada.post(`${path}/erase`, { dry_run: false }));
    expect((await findOwn(ada)).subject).toMatch(/^practice /);
    await expectWaiting(await ada.post(`${path}/patients/${row?.id}/erase`, { dry_run: false }));
    const approval = await findOwn(ada);
    expect((await decide(ben, approval)).status).toBe(200);
    expect(await fixture.owner`SELECT FROM patients WHERE id = ${row?.id ?? ''}`).toHaveLength(0);
  });

  test('is refused at once if there is nothing to erase', async () => {
    requireFor('erasure');
    const { status } = await ada.post(`clients/{client}/organizations/${'0'.repeat(32)}/erase`, { dry_run: false });
    expect(status).toBe(404);
    expect((await list(ada)).filter(({ own }) => own)).toStrictEqual([]);
  });

  test('waits once if it is requested twice', async () => {
    const { client, approval } = await requestErasure();
    await Promise.all(
      [1, 2].map(async () => expectWaiting(await ada.post(`clients/${client.client_id}/erase`, { dry_run: false }))),
    );
    expect((await list(ada)).filter(({ own }) => own)).toHaveLength(1);
    expect(await readRecords('approval.request', approval.id)).toHaveLength(1);
  });

  test('stays approved if it has not run, and can be run later', async () => {
    const { client, approval, exists } = await requestErasure();
    // As when the process dies after the approval: nothing has run.
    await fixture.owner`UPDATE approvals SET state = 'approved', decided_by = ${ben.id}, decided_at = now()
      WHERE id = ${approval.id}`;
    expect(await exists()).toBe(true);
    expect((await decide(ben, approval)).body.code).toBe('approval_over');
    expect((await findOwn(ada)).can_run).toBe(true);
    expect((await run(ada, approval)).status).toBe(200);
    expect(await exists()).toBe(false);
    expect((await readRecords('dashboard.clients.erase', client.id))[0]?.detail.approved_by).toBe(ben.email);
    expect((await run(ada, approval)).body.code).toBe('approval_over');
  });
});

describe('what leads to a deletion', () => {
  test('a shorter retention period needs an approval, and a longer one does not', async () => {
    requireFor('erasure');
    const { client_id } = await newClient(fixture);
    const change = (events: number | null) => ada.patch(`clients/${client_id}/retention`, { events });
    const days = async () => (await ada.get(`clients/${client_id}/retention`)).body.periods[0].days;
    await expectWaiting(await change(5));
    expect(await days()).toBe(30);
    expect((await decide(ben, await findOwn(ada))).body).toStrictEqual({ success: true, executed: true });
    expect(await days()).toBe(5);
    expect((await change(null)).status).toBe(200);
  });

  test('lifting a legal hold needs an owner’s approval', async () => {
    const { client_id } = await newClient(fixture);
    const path = `clients/${client_id}/legal-holds`;
    const holder = await newOperator(fixture, 'read_only', { may_hold: true });
    const other = await newOperator(fixture, 'read_only', { may_hold: true });
    const placed = await holder.post(path, { covers: 'client', reference: 'Case 20' });
    const { id } = placed.body.legal_hold;
    requireFor('erasure');
    expect((await ada.post(`${path}/${id}/lift`)).body.code).toBe('legal_hold_not_allowed');
    await expectWaiting(await holder.post(`${path}/${id}/lift`));
    const approval = await findOwn(holder);
    expect(approval.subject).toBe('legal hold “Case 20”');
    expect((await decide(other, approval)).status).toBe(404);
    const isLifted = async () => (await ada.get(path)).body.legal_holds[0].lifted_by;
    expect(await isLifted()).toBeNull();
    expect((await decide(ben, approval)).status).toBe(200);
    expect(await isLifted()).toBe(holder.email);
  });
});

describe('who decides', () => {
  test('is not the requester, in no session and with no role', async () => {
    const { approval, exists } = await requestErasure();
    const second = await signInOperator(fixture, ada);
    for (const session of [ada, second]) {
      const { status, body } = await decide(session, approval);
      expect([status, body.code]).toStrictEqual([403, 'approval_own']);
      expect((await decide(session, approval, 'refuse')).body.code).toBe('approval_own');
    }
    // Demoted and made an owner again: what was requested before is void, and still not the operator's to approve.
    requireFor();
    await ben.patch(`operators/${ada.id}`, { role: 'operator' });
    await ben.patch(`operators/${ada.id}`, { role: 'owner' });
    requireFor('erasure');
    expect((await decide(await signInOperator(fixture, ada), approval)).body.code).toBe('approval_own');
    expect(await exists()).toBe(true);
    const stored = fixture.owner`UPDATE approvals SET decided_by = requester_id, state = 'approved'
      WHERE id = ${approval.id}`;
    await expect(stored.then(() => 'stored')).rejects.toThrow('approvals_check');
  });

  test('must have the right to do it', async () => {
    const { approval, exists } = await requestErasure();
    const operator = await newOperator(fixture, 'operator');
    expect((await list(operator)).find(({ id }) => id === approval.id)).toBeUndefined();
    for (const what of ['approve', 'refuse'] as const) {
      expect((await decide(operator, approval, what)).status).toBe(404);
    }
    expect((await run(operator, approval)).status).toBe(404);
    expect((await operator.post(`approvals/${approval.id}/withdraw`)).status).toBe(404);
    expect(await exists()).toBe(true);
  });

  test('must have signed in recently', async () => {
    const { approval } = await requestErasure();
    await outdateSignIns(fixture, ben.email);
    expect((await decide(ben, approval)).body.code).toBe('operator_sign_in_again');
  });

  test('approves what they saw, by its hash', async () => {
    const { approval, exists } = await requestErasure();
    const other = { ...approval, content_hash: 'f'.repeat(64) };
    expect((await decide(ben, other)).body.code).toBe('approval_over');
    expect(await exists()).toBe(true);
    expect((await findOwn(ada)).state).toBe('pending');
  });

  test('can refuse, which is final', async () => {
    const { approval, exists } = await requestErasure();
    expect((await decide(ben, approval, 'refuse')).status).toBe(200);
    expect((await decide(ben, approval)).body.code).toBe('approval_over');
    expect(await findOwn(ada)).toMatchObject({ state: 'refused', decided_by: ben.email });
    expect(await exists()).toBe(true);
    expect((await readRecords('dashboard.approvals.refuse', approval.id))[0]).toMatchObject({ actor: ben.email });
  });

  test('does so once, if several decide at the same moment', async () => {
    const { client, approval, exists } = await requestErasure();
    const carl = await newOperatorWithoutApproval();
    const responses = await Promise.all([ben, carl, ben, carl].map((operator) => decide(operator, approval)));
    expect(responses.map(({ status }) => status).sort()).toStrictEqual([200, 409, 409, 409]);
    expect(await exists()).toBe(false);
    expect(
      (await readRecords('dashboard.clients.erase', client.id)).filter(({ outcome }) => outcome === '200'),
    ).toHaveLength(1);
  });

  test('is not the operator whom it is about', async () => {
    requireFor('owners');
    await expectWaiting(await ada.post(`operators/${ben.id}/reset`));
    const approval = await findOwn(ada);
    expect(approval.subject).toBe(ben.email);
    expect((await decide(ben, approval)).body.code).toBe('approval_own');
  });
});

/** The invitation of the harness is stored without a request. */
const newOperatorWithoutApproval = () => newOperator(fixture, 'owner');

describe('a request', () => {
  test('can be withdrawn by the requester', async () => {
    const { approval } = await requestErasure();
    expect((await ada.post(`approvals/${approval.id}/withdraw`)).status).toBe(200);
    expect((await decide(ben, approval)).body.code).toBe('approval_over');
    expect(await findOwn(ada)).toMatchObject({ state: 'cancelled', reason: 'withdrawn' });
  });

  test('expires after FOUR_EYES_HOURS, with a record', async () => {
    const { approval, exists } = await requestErasure();
    const hours = Date.parse(String(approval.expires_at)) - Date.parse(String(approval.requested_at));
    expect(Math.round(hours / 3_600_000)).toBe(2);
    await fixture.owner`UPDATE approvals SET expires_at = now() WHERE id = ${approval.id}`;
    expect(await findOwn(ada)).toMatchObject({ state: 'expired', can_run: false });
    expect((await decide(ben, approval)).body.code).toBe('approval_over');
    await expireApprovals(fixture.ctx);
    await expireApprovals(fixture.ctx);
    expect((await readRecords('approval.end', approval.id)).map(({ outcome }) => outcome)).toStrictEqual(['expired']);
    expect(await exists()).toBe(true);
  });

  test('must run in the same time after the approval', async () => {
    requireFor('credentials');
    await expectWaiting(await ada.post(`clients/{client}/keys`, { label: 'Late' }));
    const approval = await findOwn(ada);
    await decide(ben, approval);
    await fixture.owner`UPDATE approvals SET expires_at = now() WHERE id = ${approval.id}`;
    expect((await run(ada, approval)).body.code).toBe('approval_over');
    expect(await fixture.owner`SELECT FROM client_secrets WHERE label = 'Late'`).toHaveLength(0);
  });

  test.each<[string, () => Promise<unknown>]>([
    ['demoted', () => ben.patch(`operators/${ada.id}`, { role: 'operator' })],
    ['disabled', () => ben.patch(`operators/${ada.id}`, { disabled: true })],
  ])('is canceled when the requester is %s, with a record', async (_how, change) => {
    const { approval, exists } = await requestErasure();
    requireFor();
    await change();
    requireFor('erasure');
    expect((await decide(ben, approval)).body.code).toMatch(/^approval_(over|right_lost)$/);
    const [stored] = await fixture.owner`SELECT state, reason FROM approvals WHERE id = ${approval.id}`;
    expect(stored).toStrictEqual({ state: 'cancelled', reason: 'requester_changed' });
    expect((await readRecords('approval.end', approval.id))[0]?.detail).toStrictEqual({ reason: 'requester_changed' });
    expect(await exists()).toBe(true);
  });

  test('is canceled when it is approved, if the right was lost in any other way', async () => {
    const { approval, exists } = await requestErasure();
    await fixture.owner`UPDATE operators SET role = 'support' WHERE id = ${ada.id}`;
    expect((await decide(ben, approval)).body.code).toBe('approval_right_lost');
    const [stored] = await fixture.owner`SELECT state FROM approvals WHERE id = ${approval.id}`;
    expect(stored?.state).toBe('cancelled');
    expect(await exists()).toBe(true);
  });

  test('is canceled when the approver loses access before it runs', async () => {
    requireFor('credentials');
    await expectWaiting(await ada.post('clients/{client}/keys', { label: 'Void' }));
    const approval = await findOwn(ada);
    await decide(ben, approval);
    requireFor();
    await ada.patch(`operators/${ben.id}`, { disabled: true });
    requireFor('credentials');
    expect((await run(ada, approval)).body.code).toBe('approval_over');
    expect(await findOwn(ada)).toMatchObject({ state: 'cancelled', reason: 'approver_changed' });
  });

  test('is canceled, approved or not, when the database is restored from a backup', async () => {
    requireFor('credentials');
    await expectWaiting(await ada.post('clients/{client}/keys', { label: 'Restored' }));
    const approved = await findOwn(ada);
    await decide(ben, approved);
    await expectWaiting(await ada.post('clients/{client}/keys', { label: 'Pending' }));
    const pending = await findOwn(ada);
    await cancelRestoredApprovals(fixture.ctx);
    for (const approval of [approved, pending]) {
      const [stored] = await fixture.owner`SELECT state, reason FROM approvals WHERE id = ${approval.id}`;
      expect(stored).toStrictEqual({ state: 'cancelled', reason: 'restored' });
      expect((await readRecords('approval.end', approval.id))[0]?.detail).toStrictEqual({ reason: 'restored' });
    }
    expect((await run(ada, approved)).body.code).toBe('approval_over');
    expect((await decide(ben, pending)).body.code).toBe('approval_over');
  });

  test('is listed while it is open, however many others there are; one operator can have 100', async () => {
    const { approval } = await requestErasure();
    const copies = (n: number, state: string) => fixture.owner`
      INSERT INTO approvals (id, action, endpoint, client, subject, content_sealed, content_hash, requester_id,
                             requester_method, expires_at, requested_at, state, ended_at)
      SELECT gen_random_uuid(), action, endpoint, client, subject, content_sealed, sha256(n::text::bytea), requester_id,
             requester_method, expires_at, now() + n * interval '1 second', ${state},
             CASE WHEN ${state} = 'pending' THEN NULL ELSE now() END
        FROM approvals, generate_series(1, ${n}::int) AS n WHERE id = ${approval.id}`;
    await copies(300, 'cancelled');
    expect((await list(ben)).map(({ id }) => id)).toContain(approval.id);
    await copies(99, 'pending');
    const repeated = await ada.post(`clients/${(await newClient(fixture)).client_id}/erase`, { dry_run: false });
    expect([repeated.status, repeated.body.code]).toStrictEqual([409, 'approvals_max']);
    await fixture.owner`DELETE FROM approvals WHERE id <> ${approval.id}`;
  });

  test('does not run if it was changed in the database', async () => {
    const { approval, exists } = await requestErasure();
    await fixture.owner`UPDATE approvals SET content_hash = ${Buffer.alloc(32)} WHERE id = ${approval.id}`;
    expect((await decide(ben, { ...approval, content_hash: '0'.repeat(64) })).status).toBe(500);
    expect(await exists()).toBe(true);
    // It does not hide the others.
    expect((await list(ben)).find(({ id }) => id === approval.id)).toBeUndefined();
  });

  test('is stored encrypted, and deleted 90 days after its end', async () => {
    requireFor('webhooks');
    const webhook_url = 'https://receiver.example.org/in?token=a-secret-of-the-receiver';
    await expectWaiting(await ada.post('clients/{client}/webhooks', { webhook_url }));
    const { id } = await findOwn(ada);
    const [row] = await fixture.owner<{ text: string; sealed: Buffer }[]>`
      SELECT approvals::text AS text, content_sealed AS sealed FROM approvals WHERE id = ${id}`;
    expect(row?.text).not.toContain('a-secret-of');
    expect(row?.sealed.toString('latin1')).not.toContain('a-secret-of');
    const [requested] = await readRecords('approval.request', id);
    expect(JSON.stringify(requested)).not.toContain('a-secret-of');
    await ada.post(`approvals/${id}/withdraw`);
    await fixture.owner`UPDATE approvals SET ended_at = now() - interval '91 days' WHERE id = ${id}`;
    await purgeApprovals(fixture.ctx.db.system);
    expect(await fixture.owner`SELECT FROM approvals WHERE id = ${id}`).toHaveLength(0);
  });
});

describe('a credential', () => {
  test('is shown only to the requester, who runs the approved request', async () => {
    requireFor('credentials');
    const account_id = await firstAccount();
    await expectWaiting(await ada.post(`clients/{client}/accounts/${account_id}/reveal`));
    const approval = await findOwn(ada);
    expect(approval.subject).toMatch(/^account .+ of practice .+$/);
    expect((await run(ada, approval)).body.code).toBe('approval_over');
    expect((await decide(ben, approval)).body).toStrictEqual({ success: true, executed: false });
    expect((await run(ben, approval)).body.code).toBe('approval_own');
    const { body } = await run(ada, approval);
    expect(body.result).toStrictEqual({ access_token: expect.any(String) });
    expect((await run(ada, approval)).body.code).toBe('approval_over');
    const [revealed] = (await readRecords('dashboard.accounts.reveal')).slice(-1);
    expect(revealed).toMatchObject({ actor: ada.email, outcome: '200', detail: { approved_by: ben.email } });
    expect(JSON.stringify(await readRecords('dashboard.approvals.run'))).not.toContain(body.result.access_token);
  });

  test('is created once, if the requester runs it several times at the same moment', async () => {
    requireFor('credentials');
    await expectWaiting(await ada.post('clients/{client}/keys', { label: 'Once' }));
    const approval = await findOwn(ada);
    await decide(ben, approval);
    const responses = await Promise.all([1, 2, 3].map(() => run(ada, approval)));
    expect(responses.map(({ status }) => status).sort()).toStrictEqual([200, 409, 409]);
    expect(await fixture.owner`SELECT FROM client_secrets WHERE label = 'Once'`).toHaveLength(1);
  });

  test('can be approved by an operator of the client, but not by one of another', async () => {
    requireFor('credentials');
    const other = await newClient(fixture);
    const inside = await newOperator(fixture, 'operator', {
      clients: [{ client_id: fixture.sandbox.client_id, role: 'operator' }],
    });
    const outside = await newOperator(fixture, 'operator', {
      clients: [{ client_id: other.client_id, role: 'operator' }],
    });
    await expectWaiting(await ada.post(`clients/{client}/accounts/${await firstAccount()}/reveal`));
    const approval = await findOwn(ada);
    expect((await decide(outside, approval)).status).toBe(404);
    expect((await decide(inside, approval)).status).toBe(200);
  });
});

describe('a webhook endpoint', () => {
  const webhook_url = 'https://receiver.example.org/events';

  test('is created with the URL that was approved, and its secret is for the requester', async () => {
    requireFor('webhooks');
    await expectWaiting(await ada.post('clients/{client}/webhooks', { webhook_url }));
    const approval = await findOwn(ada);
    expect(approval.content).toContainEqual({ name: 'webhook_url', value: webhook_url });
    await decide(ben, approval);
    const { result } = (await run(ada, approval)).body;
    expect(result).toMatchObject({ webhook_secret: expect.any(String) });
    const path = `clients/{client}/webhooks/${result.webhook_id}`;
    // What does not change the destination or the secret needs nobody else.
    expect((await ada.patch(path, { paused: true })).status).toBe(200);
    await expectWaiting(await ada.patch(path, { webhook_url: 'https://elsewhere.example.org/in' }));
    expect((await findOwn(ada)).subject).toBe('webhook endpoint at receiver.example.org');
    expect((await decide(ben, await findOwn(ada))).body.executed).toBe(true);
    expect((await ada.get(path)).body.webhook.url).toBe('https://elsewhere.example.org/in');
    await expectWaiting(await ada.post(`${path}/rotate-secret`));
    expect((await ada.post(`${path}/disable`)).status).toBe(200);
  });

  test('stays approved if its URL turns out to be refused, with the reason', async () => {
    requireFor('webhooks');
    await expectWaiting(await ada.post('clients/{client}/webhooks', { webhook_url: 'https://10.1.2.3/in' }));
    const approval = await findOwn(ada);
    await decide(ben, approval);
    expect((await run(ada, approval)).body.code).toBe('webhook_url_refused');
    expect((await findOwn(ada)).state).toBe('approved');
  });

  test('needs a valid body before anybody is asked', async () => {
    requireFor('webhooks');
    expect((await ada.post('clients/{client}/webhooks', {})).body.code).toBe('missing_field');
    expect((await list(ada)).filter(({ own }) => own)).toStrictEqual([]);
  });
});

describe('a second account that could approve', () => {
  test.each<FourEyesAction>(['owners', 'erasure'])('needs a second person with FOUR_EYES=%s', async (action) => {
    requireFor(action);
    const operator = await newOperator(fixture, 'operator');
    const invitation = { email: `second-${action}@example.test`, role: 'owner' };
    await expectWaiting(await ada.post('invitations', invitation));
    await decide(ben, await findOwn(ada));
    const { result } = (await run(ada, await findOwn(ada))).body;
    const token = new URL(result.invitation.link).hash.slice(1);
    expect((await sendAnonymously(fixture, 'invitations/find', { token })).body.email).toBe(invitation.email);
    await expectWaiting(await ada.patch(`operators/${operator.id}`, { role: 'owner' }));
    await decide(ben, await findOwn(ada));
    expect((await operator.get('session')).body.session).toBeNull();
    expect((await (await signInOperator(fixture, operator)).get('operators')).status).toBe(200);
    await expectWaiting(await ada.post(`operators/${operator.id}/reset`));
    await expectWaiting(await ada.patch(`operators/${operator.id}`, { sso_link: true }));
    // Taking access away needs nobody else; giving it back does.
    expect((await ada.patch(`operators/${operator.id}`, { disabled: true })).status).toBe(200);
    await expectWaiting(await ada.patch(`operators/${operator.id}`, { disabled: false }));
    expect((await ada.post('invitations', { ...invitation, email: 'o@example.test', role: 'operator' })).status).toBe(
      200,
    );
  });

  test('is an operator too if operators can approve', async () => {
    requireFor('webhooks');
    const { client_id } = fixture.sandbox;
    const support = await newOperator(fixture, 'support');
    await expectWaiting(await ada.post('invitations', { email: 'p@example.test', role: 'operator' }));
    const clients = [{ client_id, role: 'operator' }];
    await expectWaiting(await ada.post('invitations', { email: 'q@example.test', role: 'support', clients }));
    await expectWaiting(await ada.patch(`operators/${support.id}`, { clients }));
    expect((await ada.post('invitations', { email: 'r@example.test', role: 'read_only' })).status).toBe(200);
    expect((await ada.patch(`operators/${support.id}`, { role: 'read_only' })).status).toBe(200);
    expect((await ada.post(`operators/${support.id}/reset`)).status).toBe(200);
    const operator = await newOperator(fixture, 'operator');
    await expectWaiting(await ada.post(`operators/${operator.id}/reset`));
    // Less than before.
    expect((await ada.patch(`operators/${operator.id}`, { clients })).status).toBe(200);
  });
});

test('commands on the server need no second person, and their record says so', async () => {
  const client = await newClient(fixture);
  const env = { ...fixture.env, FOUR_EYES: 'erasure' };
  const erased = await runHere(['erase', 'client', '--client', client.client_id, '--yes', '--json'], env);
  expect(erased.code).toBe(0);
  const [erasure] = await readRecords('erase.client', client.id);
  expect(erasure).toMatchObject({ actor: 'command line', detail: { without_second_person: true } });
  const operator = await newOperator(fixture, 'support');
  expect((await runHere(['operators', 'reset', '--email', operator.email], env)).code).toBe(0);
  const [reset] = (await readRecords('operator.reset')).slice(-1);
  expect(reset?.detail).toStrictEqual({ without_second_person: true });
});
