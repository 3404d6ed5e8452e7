import { Type } from 'typebox';
import { findAccountByToken } from '../../accounts/accounts.ts';
import { findClient } from '../../clients/clients.ts';
import { apiError } from '../../errors.ts';
import { type Endpoint, endpoint } from '../../http/endpoint.ts';
import { success } from '../../model/fields.ts';
import { requestWrite } from '../../writes/requestWrite.ts';
import { createTelephoneEncounter } from '../../writes/telephone-encounters/telephoneEncounter.create.ts';
import { type FindClinic, findClinic } from './findClinic.ts';

export const sandboxFirstWrite = (find: FindClinic): Endpoint =>
  endpoint({
    id: 'dashboard.sandbox.first-write',
    method: 'POST',
    path: '/dashboard/api/sandbox/first-write',
    auth: 'operator',
    sandbox: true,
    summary: 'Ask for a telephone encounter in the reference EMR, as an application would',
    body: Type.Object({}),
    response: Type.Object({ success, client_id: Type.String(), job_id: Type.Integer() }),
    errors: ['login_required', 'emr_unavailable'],
    handle: async ({ ctx, auditPatients }) => {
      const { access_token, call } = findClinic(find).first;
      const account = await findAccountByToken(ctx, access_token);
      const client = account && (await findClient(ctx, account.client_id));
      if (!client || account.status !== 'active') throw apiError('login_required');
      auditPatients([call.patient_mrn]);
      const queued = await requestWrite(ctx, { account, write: createTelephoneEncounter, body: call });
      if (!queued) throw new Error('A write without a key was not queued.');
      return { success: true, client_id: client.public_id, job_id: queued.job_id };
    },
  });
