import { afterAll, beforeAll, expect, test } from 'vitest';
import { purgeInvitations } from '../../../src/product/operators/operatorInvitations.ts';
import { newClient } from '../../api/support.ts';
import type { ApiResponse } from '../../harness/api.ts';
import { newOperator, sendAnonymously, signIn, signInOperator, type TestOperator } from '../../harness/operator.ts';
import { startSandbox, type TestSandbox } from '../../harness/sandbox.ts';

let fixture: TestSandbox;
let owner: TestOperator;
beforeAll(async () => {
  fixture = await startSandbox({ small: true });
  owner = await signInOperator(fixture);
});
afterAll(() => fixture.close());

const password = 'a password of their own';
const invalid = { status: 410, body: { code: 'invitation_invalid' } };

async function invite(email: string, access: object = { role: 'operator' }): Promise<{ id: string; token: string }> {
  const { status, body } = await owner.post('invitations', { email, ...access });
  expect(status, JSON.stringify(body)).toBe(200);
  const link = new URL(body.invitation.link);
  expect(link.pathname).toBe('/dashboard/invitation');
  return { id: body.invitation.id, token: link.hash.slice(1) };
}

function find(token: string): Promise<ApiResponse> {
  return sendAnonymously(fixture, 'invitations/find', { token });
}

function accept(token: string, fields: object = {}, headers: Record<string, string | null> = {}): Promise<ApiResponse> {
  return sendAnonymously(fixture, 'invitations/accept', { token, name: 'Invited', password, ...fields }, headers);
}

test('creates the operator with the invited access and signs in, once', async () => {
  const email = 'Invited@Example.org';
  const clients = [{ client_id: fixture.sandbox.client_id, role: 'support' }];
  const { id, token } = await invite(email, { role: 'support', clients, may_reveal: true });
  const [pending] = (await owner.get('operators')).body.invitations;
  expect(pending).toMatchObject({ id, email: 'invited@example.org', expired: false, all_clients: false, clients });
  const stored = JSON.stringify(await fixture.owner`SELECT * FROM operator_invitations`);
  expect(stored).not.toContain(token);
  const inviter_name = 'Sandbox owner';
  const offer = { success: true, email: 'invited@example.org', inviter_name, role: null, second_factor: false };
  expect((await find(token)).body).toStrictEqual(offer);
  for (const password of ['short', 'Sunshine2031!']) {
    expect((await accept(token, { password })).body, password).toMatchObject({ field: 'password' });
  }
  const accepted = await accept(token);
  expect(accepted.status, JSON.stringify(accepted.body)).toBe(200);
  expect(accepted.headers.get('set-cookie')).toMatch(/HttpOnly; SameSite=Strict/);
  expect(accepted.body.session.operator).toMatchObject({
    email: 'invited@example.org',
    name: 'Invited',
    all_clients: false,
    clients,
    may_reveal: true,
  });
  expect(accepted.body.session).toMatchObject({ method: 'password', pending_setup: null });
  const [record] = await fixture.owner`SELECT actor, subject, address, detail FROM audit_records
    WHERE action = 'operator.accept_invitation'`;
  expect(record).toStrictEqual({
    actor: 'invited@example.org',
    subject: accepted.body.session.operator.id,
    address: '127.0.0.1',
    detail: { invitation: id },
  });
  expect(await accept(token)).toMatchObject(invalid);
  expect(await find(token)).toMatchObject(invalid);
  expect((await owner.get('operators')).body.invitations).toStrictEqual([]);
  const again = await owner.post('invitations', { email, role: 'operator' });
  expect(again).toMatchObject({ status: 409, body: { code: 'operator_exists', field: 'email' } });
  expect((await signIn(fixture, { email, password })).status).toBe(200);
});

test('one of two requests with the same link is accepted', async () => {
  const { token } = await invite('twice@example.org');
  const responses = await Promise.all([accept(token), accept(token)]);
  expect(responses.map(({ status }) => status).sort()).toStrictEqual([200, 410]);
});

test('is invalid once it is revoked, replaced or expired', async () => {
  const revoked = await invite('revoked@example.org');
  expect((await owner.delete(`invitations/${revoked.id}`)).status).toBe(200);
  expect((await owner.delete(`invitations/${revoked.id}`)).status).toBe(404);
  expect(await accept(revoked.token)).toMatchObject(invalid);
  const first = await invite('replaced@example.org', { role: 'owner' });
  const second = await invite('Replaced@example.org', { role: 'read_only' });
  expect(await accept(first.token)).toMatchObject(invalid);
  expect((await accept(second.token)).body.session.operator.role).toBe('read_only');
  const late = await invite('late@example.org');
  await fixture.owner`UPDATE operator_invitations SET expires_at = expires_at - interval '72 hours'`;
  expect(await find(late.token)).toMatchObject(invalid);
  expect(await accept(late.token)).toMatchObject(invalid);
  expect((await owner.get('operators')).body.invitations).toMatchObject([{ id: late.id, expired: true }]);
  await fixture.owner`UPDATE operator_invitations SET expires_at = expires_at - interval '7 days'`;
  await purgeInvitations(fixture.ctx.db.system);
  expect((await owner.get('operators')).body.invitations).toStrictEqual([]);
});

test('gives no access to a client that was erased in the meantime', async () => {
  const other = await newClient(fixture);
  const clients = [other.client_id, fixture.sandbox.client_id].map((client_id) => ({ client_id, role: 'operator' }));
  const { token } = await invite('erased@example.org', { role: 'support', clients });
  expect((await owner.post(`clients/${other.client_id}/erase`, { dry_run: false })).status).toBe(200);
  const { operator } = (await accept(token)).body.session;
  expect(operator).toMatchObject({ all_clients: false, clients: [clients[1]] });
});

test('requires an owner to create, and the dashboard’s own page to accept', async () => {
  const operator = await newOperator(fixture, 'operator');
  const refused = await operator.post('invitations', { email: 'x@example.org', role: 'owner' });
  expect(refused.body.code).toBe('operator_role_lacking');
  const { token } = await invite('origin@example.org');
  const elsewhere = await accept(token, {}, { origin: 'https://elsewhere.test' });
  expect(elsewhere.body.code).toBe('operator_request_foreign');
  const clients = [{ client_id: fixture.sandbox.client_id, role: 'operator' }];
  const scoped_owner = await owner.post('invitations', { email: 'y@example.org', role: 'owner', clients });
  expect(scoped_owner.body).toMatchObject({ code: 'invalid_field', field: 'clients' });
  const sent = await fixture.owner`SELECT detail FROM audit_records WHERE action = 'dashboard.invitations.create'`;
  expect(JSON.stringify(sent)).not.toContain(token);
});
