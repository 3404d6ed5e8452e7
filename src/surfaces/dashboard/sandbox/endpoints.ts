import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { success } from '../../../model/fields.ts';
import { findAccountByToken } from '../../../product/accounts/accounts.ts';
import { findClient, findClientByPublicId } from '../../../product/clients/clients.ts';
import { requestWrite } from '../../../product/writes/requestWrite.ts';
import { createTelephoneEncounter } from '../../../product/writes/telephone-encounters/telephoneEncounter.create.ts';
import { opened_fields, opened_url, openInEmr } from '../../sandbox/openInEmr.ts';
import type { SandboxEmr } from '../../sandbox/sandboxEmr.ts';
import { sandbox_state } from './schema.ts';

/** The sandbox's EMR, or undefined before it is up and in processes that only serve the API. */
export type FindSandboxEmr = () => SandboxEmr | undefined;

const declared = { surface: 'dashboard', auth: 'operator', sandbox: true } as const;

/** The Sandbox page: faults, sign-in codes and sessions of the reference EMR. */
export const sandboxEndpoints = (findEmr: FindSandboxEmr): readonly Endpoint[] => {
  const requireEmr = (): SandboxEmr => {
    const emr = findEmr();
    if (!emr) throw apiError('emr_unavailable', { emr: 'The reference EMR' });
    return emr;
  };
  return [
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.get',
      method: 'GET',
      path: '/dashboard/api/sandbox',
      // With the codes one can sign in to the reference EMR, which shows patients.
      role: 'read_only',
      // All patients and staff are synthetic: faults, passwords and codes are not health data.
      audited: false,
      returns_secret: true,
      summary: 'Retrieve the reference EMR’s faults, staff, passwords and one-time codes',
      response: Type.Object({ success, sandbox: sandbox_state }),
      errors: ['emr_unavailable'],
      handle: async () => ({ success: true, sandbox: await requireEmr().describe() }),
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.faults.set',
      method: 'POST',
      path: '/dashboard/api/sandbox/faults/{switch_id}',
      summary: 'Turn a fault of the reference EMR on or off',
      params: Type.Object({ switch_id: Type.String() }),
      body: Type.Object({ to: Type.Enum(['on', 'once', 'off']) }),
      response: Type.Object({ success }),
      errors: ['record_not_found', 'emr_unavailable'],
      handle: async ({ params, body }) => {
        const exists = await requireEmr().setFault(params.switch_id, body.to);
        if (!exists) throw apiError('record_not_found', { noun: 'Fault', id: params.switch_id });
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.faults.clear',
      method: 'DELETE',
      path: '/dashboard/api/sandbox/faults',
      summary: 'Clear all faults of the reference EMR',
      response: Type.Object({ success }),
      errors: ['emr_unavailable'],
      handle: async () => {
        await requireEmr().clearFaults();
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.sessions.expire',
      method: 'POST',
      path: '/dashboard/api/sandbox/sessions/expire',
      summary: 'Expire the sessions at the reference EMR; with `link` they cannot be renewed either',
      body: Type.Object({ mode: Type.Enum(['session', 'link']) }),
      response: Type.Object({ success }),
      errors: ['emr_unavailable'],
      handle: async ({ body }) => {
        await requireEmr().expireSessions(body.mode);
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.lockouts.set',
      method: 'POST',
      path: '/dashboard/api/sandbox/lockouts',
      summary: 'Lock or unlock a staff member of the reference EMR',
      body: Type.Object({ user_name: Type.String({ minLength: 1, maxLength: 100 }), locked: Type.Boolean() }),
      response: Type.Object({ success }),
      errors: ['emr_unavailable'],
      handle: async ({ body }) => {
        await requireEmr().lock(body.user_name, body.locked);
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.reset',
      method: 'POST',
      path: '/dashboard/api/sandbox/reset',
      summary: 'Reset the reference EMR to its initial data',
      body: Type.Object({}),
      response: Type.Object({ success }),
      errors: ['emr_unavailable'],
      handle: async () => {
        await requireEmr().reset();
        return { success: true };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.open',
      method: 'POST',
      path: '/dashboard/api/sandbox/open',
      // As the one-time codes: with the link one can sign in to the reference EMR.
      role: 'read_only',
      returns_secret: true,
      summary: 'Create a link that opens a chart of the reference EMR, at what a job wrote',
      body: Type.Object({ client_id: Type.String(), ...opened_fields }),
      response: Type.Object({ success, url: opened_url }),
      errors: [
        'record_not_found',
        'patient_not_found',
        'job_not_openable',
        'sandbox_client_required',
        'emr_unavailable',
      ],
      handle: async ({ ctx, body: { client_id, ...opened }, auditPatients, auditSubject }) => {
        const client = await findClientByPublicId(ctx, client_id);
        if (!client) throw apiError('record_not_found', { noun: 'Client', id: client_id });
        const { url, mrn } = await openInEmr(ctx, client, opened);
        auditPatients([mrn]);
        auditSubject({ client_id: client.id, job_id: opened.job_id });
        return { success: true, url };
      },
    }),
    endpoint({
      ...declared,
      id: 'dashboard.sandbox.first-write',
      method: 'POST',
      path: '/dashboard/api/sandbox/first-write',
      summary: 'Create a sample telephone encounter, as an application would',
      body: Type.Object({}),
      response: Type.Object({ success, client_id: Type.String(), job_id: Type.Integer() }),
      errors: ['login_required', 'emr_unavailable'],
      handle: async ({ ctx, auditPatients }) => {
        const { access_token, call } = requireEmr().first;
        const account = await findAccountByToken(ctx, access_token);
        const client = account && (await findClient(ctx, account.client_id));
        if (!client || account.status !== 'active') throw apiError('login_required');
        auditPatients([call.patient_mrn]);
        const queued = await requestWrite(ctx, {
          account,
          write: createTelephoneEncounter,
          body: call,
          reference: null,
        });
        if (!queued) throw new Error('A write without an idempotency key was not queued.');
        return { success: true, client_id: client.public_id, job_id: queued.job_id };
      },
    }),
  ];
};
