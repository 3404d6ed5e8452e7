import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId, parseJobId } from '../../../catalog/ids.ts';
import { readSessionCookie } from '../../../http/auth/authenticateOperator.ts';
import { type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { date_time, success } from '../../../model/fields.ts';
import { type Client, listClients } from '../../../product/clients/clients.ts';
import type { Context } from '../../../product/context.ts';
import { addReveal, type RevealKind } from '../../../product/operators/operatorSessions.ts';
import { patientsInBody, readRequest } from '../../../product/webhooks/receiver/receivers.ts';
import { describeEvent } from '../events/queries.ts';
import { describeJob } from '../jobs/queries.ts';
import { findPatient } from '../records/queries.ts';
import { type Live, liveGet } from './live.ts';
import { client_row, new_reveal } from './schema.ts';

/** What every page of the dashboard uses. */
export function appEndpoints(live: Live): readonly Endpoint[] {
  return [clientsList, liveGet(live), revealsCreate];
}

const clientsList = endpoint({
  id: 'dashboard.clients.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients',
  auth: 'operator',
  reach: 'clients',
  audited: false,
  summary: 'List applications',
  response: Type.Object({ success, clients: Type.Array(client_row) }),
  handle: async ({ ctx, scope }) => ({ success: true, clients: await listClients(ctx, scope) }),
});

/** The audit record, with the reason, is committed before any detail is shown: the page requests them afterwards. */
const revealsCreate = endpoint({
  id: 'dashboard.reveals.create',
  surface: 'dashboard',
  method: 'POST',
  path: '/dashboard/api/clients/{client_id}/reveals',
  auth: 'operator_in_client',
  role: 'support',
  summary: 'Reveal the patient details of a job, event, received request or patient for 15 minutes, for this session',
  params: Type.Object({ client_id: Type.String() }),
  body: new_reveal,
  response: Type.Object({ success, expires_at: date_time }),
  errors: ['record_not_found', 'reveal_not_allowed'],
  handle: async ({ ctx, client, operator, headers, body, auditPatients, auditSubject, inTransaction }) => {
    const { kind, id, reason } = body;
    const record = await subjects[kind].find(ctx, client, id);
    if (!record) throw apiError('record_not_found', { noun: subjects[kind].noun, id });
    const { subject, mrns } = record;
    auditSubject({ ...(kind === 'job' ? { job_id: Number(subject) } : { subject }), detail: { kind, reason } });
    auditPatients(mrns);
    if (!operator.may_reveal) throw apiError('reveal_not_allowed');
    return inTransaction(async (tx) => {
      const session = readSessionCookie(ctx, headers) ?? '';
      const expires_at = await addReveal(tx, { client_id: client.id, session, kind, subject });
      return { success: true, expires_at: expires_at.toISOString() };
    });
  },
});

type Subject = { subject: string; mrns: (string | null)[] };
type FindSubject = (ctx: Context, client: Client, id: string) => Promise<Subject | undefined>;

/** How each kind is found, in the form in which its own endpoint names it, and whom it concerns. */
const subjects: Record<RevealKind, { noun: string; find: FindSubject }> = {
  job: {
    noun: 'Job',
    find: async ({ db }, client, id) => {
      const job_id = parseJobId(id);
      const job = job_id === undefined ? undefined : await describeJob(db, client.id, job_id);
      return job && { subject: String(job.job_id), mrns: [job.patient_mrn] };
    },
  },
  event: {
    noun: 'Event',
    find: async ({ db }, client, id) => {
      const event_id = parseId(id);
      const event = event_id && (await describeEvent(db, client.id, event_id));
      return event ? { subject: event.id, mrns: event.mrns } : undefined;
    },
  },
  received_request: {
    noun: 'Request',
    find: async ({ db }, client, id) => {
      const request_id = parseId(id);
      const request = request_id && (await readRequest(db, client.id, request_id));
      return request ? { subject: request.id, mrns: patientsInBody(request.body) } : undefined;
    },
  },
  patient: {
    noun: 'Patient',
    find: async ({ db }, client, id) => {
      const patient_id = parseId(id);
      const patient = patient_id && (await findPatient(db, client.id, patient_id));
      return patient ? { subject: patient.id, mrns: [patient.mrn] } : undefined;
    },
  },
};
