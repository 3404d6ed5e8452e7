import { isDeepStrictEqual } from 'node:util';
import { type Static, type TObject, Type } from 'typebox';
import { ApiError, apiError } from '../../../catalog/errors.ts';
import { parseJobId } from '../../../catalog/ids.ts';
import { type AnyRequest, bodyPart, type Endpoint, endpoint } from '../../../http/endpoint.ts';
import { readIdempotencyKey } from '../../../http/idempotency.ts';
import { reader } from '../../../http/validate.ts';
import { type DryRun, DryRun as DryRunResponse } from '../../../model/dryRun.ts';
import { success, text } from '../../../model/fields.ts';
import { readAccount, type StoredAccount } from '../../../product/accounts/accounts.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import type { Context } from '../../../product/context.ts';
import { type IdempotencyKey, readKey } from '../../../product/jobs/idempotencyKeys.ts';
import { type RerunCandidate, readRerunCandidate } from '../../../product/jobs/listJobs.ts';
import {
  asEditedCopy,
  type Editable,
  type EditableWrite,
  NotEditable,
  requireEditable,
} from '../../../product/writes/editJob.ts';
import { endpoints as api_endpoints } from '../../api/endpoints.ts';
import { describeForm } from './form.ts';
import { findChart } from './queries.ts';
import { findReferences, listChoices } from './references.ts';
import { choice, edit_form, edited_request } from './schema.ts';

const job_params = Type.Object({ client_id: Type.String(), job_id: Type.String() });
const job_path = '/dashboard/api/clients/{client_id}/jobs/{job_id}/edit';
const edit_body = Type.Object({
  ...edited_request,
  /** Chosen by the page when it opens the form, so that a request that is sent twice is accepted once. */
  key: text({ pattern: '^[0-9A-Za-z-]{8,64}$' }),
  /** What is saved in the EMR already may be saved a second time. */
  send_saved_again: Type.Optional(Type.Boolean()),
});
const declared = { surface: 'dashboard', auth: 'operator_in_client', role: 'operator', params: job_params } as const;

/** Editing the request of a failed job and sending it again as a new write. */
export const edit_endpoints: readonly Endpoint[] = [
  endpoint({
    ...declared,
    id: 'dashboard.jobs.edit.form',
    method: 'GET',
    path: job_path,
    summary: 'Retrieve the request of a failed job as a form',
    response: Type.Object({ success, form: edit_form }),
    errors: ['record_not_found', 'job_not_editable'],
    handle: async ({ ctx, client, params, auditPatients }) => {
      const editable = await findEditable(ctx, client.id, params.job_id);
      const { job, account } = editable;
      auditPatients([job.patient_mrn]);
      const organization_id = account.organization_id.replaceAll('-', '');
      return {
        success: true,
        form: {
          job_id: job.id,
          type: job.type,
          emr: requireConnector(ctx, job.connector).display_name,
          organization_id,
          error: job.error && { code: job.error.code, message: job.error.message },
          existing_patient: await findChart(ctx.db, client.id, { organization_id, error: job.error }),
          fields: await describeForm(ctx, editable),
          saved_steps: job.saved_steps,
        },
      };
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.jobs.edit.choices',
    method: 'POST',
    path: `${job_path}/choices`,
    reads: true,
    // Records and codes of a practice, none of them about a patient.
    audited: false,
    summary: 'List what a field of the form can name',
    body: Type.Object({
      field: text({ maxLength: 100 }),
      search: Type.Optional(text({ maxLength: 100 })),
      request: Type.Optional(edited_request.request),
    }),
    response: Type.Object({ success, choices: Type.Array(choice) }),
    errors: ['record_not_found', 'job_not_editable'],
    handle: async ({ ctx, client, params, body: { field, search = '', request = {} } }) => {
      const { write, account } = await findEditable(ctx, client.id, params.job_id);
      const references = findReferences(write.body, field);
      return { success: true, choices: await listChoices(ctx.db, account, references, { search, request }) };
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.jobs.edit.dry-run',
    method: 'POST',
    path: `${job_path}/dry-run`,
    summary: 'Check an edited request without sending it',
    body: Type.Object(edited_request),
    response: Type.Object({ success, result: DryRunResponse }),
    errors: ['record_not_found', 'job_not_editable', 'invalid_field', 'missing_field'],
    handle: async (request) => {
      const { ctx, client, params, body, auditPatients } = request;
      const { job, write, account } = await findEditable(ctx, client.id, params.job_id);
      auditPatients([job.patient_mrn]);
      const api_endpoint = findEndpoint(write);
      const sent = readSent(api_endpoint, body.request, job.reference);
      const result = await api_endpoint.handle({
        ...request,
        ...{ ...sent, account, link: undefined, files: [], query: { dry_run: true } },
        auditSubject: () => {},
      });
      // What the endpoint of a write returns for a dry run.
      return { success: true, result: result as DryRun };
    },
  }),
  endpoint({
    ...declared,
    id: 'dashboard.jobs.edit.create',
    method: 'POST',
    path: job_path,
    summary: 'Send the edited request of a failed job as a new write',
    body: edit_body,
    response: Type.Object({ success, job_id: Type.Integer() }),
    errors: ['record_not_found', 'job_not_editable', 'invalid_field', 'missing_field'],
    handle: async (request) => {
      const { ctx, client, params, body } = request;
      const failed = await readJob(ctx, client.id, params.job_id);
      const key = readEditKey(failed, body);
      try {
        await sendCopy(request, failed, { body, key });
      } catch (error) {
        // The response to the first request with this key was lost, or it was sent twice at the same time.
        if (!(error instanceof NotEditable) || !(await wasSent(ctx, failed.job, key))) refuse(error);
      }
      ctx.notifications.notify('chartwire_live', `jobs ${client.id}`);
      return { success: true, job_id: await requireCopy(ctx, failed.job) };
    },
  }),
];

type JobOfAccount = { job: RerunCandidate; account: StoredAccount };
type EditedRequest = Static<typeof edit_body>;

export function readJobId(text: string): number {
  const job_id = parseJobId(text);
  if (job_id === undefined) throw apiError('record_not_found', { noun: 'Job', id: text });
  return job_id;
}

function readJob({ db }: Context, client_id: string, text: string): Promise<JobOfAccount> {
  const job_id = readJobId(text);
  return db.tenant(client_id, async (tx) => {
    const job = await readRerunCandidate(tx, job_id, { lock: false });
    const account = job && (await readAccount(tx, job.account_id));
    if (!account) throw apiError('record_not_found', { noun: 'Job', id: text });
    return { job, account };
  });
}

async function findEditable(ctx: Context, client_id: string, text: string): Promise<JobOfAccount & Editable> {
  const failed = await readJob(ctx, client_id, text);
  try {
    return { ...failed, ...requireEditable(failed.job) };
  } catch (error) {
    return refuse(error);
  }
}

function refuse(error: unknown): never {
  throw error instanceof NotEditable ? apiError('job_not_editable', { reason: error.reason }) : error;
}

/** Sends the request through the endpoint of its write, exactly as if the application had sent it. */
async function sendCopy(
  request: Pick<AnyRequest, 'ctx' | 'auditPatients' | 'auditSubject'> & SentBy,
  { job, account }: JobOfAccount,
  { body, key }: { body: EditedRequest; key: IdempotencyKey | undefined },
): Promise<void> {
  const { ctx, auditPatients, auditSubject } = request;
  const { write, request: before } = requireEditable(job);
  if (job.saved_steps.length > 0 && body.send_saved_again !== true) {
    const steps = job.saved_steps.map((name) => name.replaceAll('_', ' ')).join(', ');
    throw new NotEditable(`A part is saved in the EMR already: ${steps}. Confirm that it may be saved a second time.`);
  }
  const api_endpoint = findEndpoint(write);
  const sent = readSent(api_endpoint, body.request, job.reference);
  auditPatients([job.patient_mrn]);
  auditSubject({
    detail: { edited_from_job_id: job.id, changed: listChanges(before, { ...sent.params, ...sent.body }) },
  });
  await api_endpoint.handle({
    ...request,
    ...{ ctx: asEditedCopy(ctx, job), account, link: undefined, files: [], idempotency: key, ...sent, query: {} },
  });
}

type SentBy = Omit<AnyRequest, 'account' | 'link' | 'body' | 'params' | 'query' | 'files' | 'idempotency'>;

/** The endpoint with which an application sends such a write. */
function findEndpoint({ type }: EditableWrite): Endpoint {
  const api_endpoint = api_endpoints.find(({ job_type }) => job_type === type);
  if (!api_endpoint) throw new Error(`Writes of type ${type} have no endpoint.`);
  return api_endpoint;
}

/** Reads the edited request by the schemas of the endpoint. The client's own reference is not part of it and stays. */
function readSent(
  api_endpoint: Endpoint,
  request: Record<string, unknown>,
  reference: string | null,
): Pick<AnyRequest, 'params'> & { body: Record<string, unknown> } {
  const in_path = (name: string) => Object.hasOwn(api_endpoint.params?.properties ?? {}, name);
  const [params, body] = [true, false].map((wanted) =>
    Object.fromEntries(Object.entries(request).filter(([name]) => in_path(name) === wanted)),
  );
  const schema: TObject = Type.Omit(api_endpoint.body ?? Type.Object({}), ['reference']);
  const read = reader(schema, bodyPart(api_endpoint))(body ?? {});
  return { params: params ?? {}, body: { ...read, ...(reference !== null && { reference }) } };
}

/** The names of the fields that differ, for the audit log. */
function listChanges(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const { reference: _same, ...sent } = after;
  const names = [...new Set([...Object.keys(before), ...Object.keys(sent)])];
  return names.filter((name) => !isDeepStrictEqual(before[name] ?? null, sent[name] ?? null)).sort();
}

function readEditKey({ job, account }: JobOfAccount, { key, request }: EditedRequest): IdempotencyKey | undefined {
  return readIdempotencyKey([`edit ${job.id} ${key}`], account.id, {
    endpoint: 'dashboard.jobs.edit.create',
    params: { job_id: job.id },
    body: request,
  });
}

/** Whether the edited copy of the job was sent with this key and this content. */
function wasSent(
  { db }: Context,
  { id, client_id }: JobOfAccount['job'],
  key: IdempotencyKey | undefined,
): Promise<boolean> {
  return db.tenant(client_id, async (tx) => {
    const row = key && (await readKey(tx, key).catch(ignoreReuse));
    if (!row?.operation_id) return false;
    const copies = await tx`SELECT FROM operations WHERE id = ${row.operation_id} AND edited_from_job_id = ${id}`;
    return copies.length > 0;
  });
}

/** The same key with other content: that request was not sent. */
function ignoreReuse(error: unknown): undefined {
  if (!(error instanceof ApiError) || error.code !== 'idempotency_key_reused') throw error;
}

async function requireCopy({ db }: Context, { id, client_id }: JobOfAccount['job']): Promise<number> {
  const job = await db.tenant(client_id, (tx) => readRerunCandidate(tx, id, { lock: false }));
  if (!job?.edited_copy) throw new Error('An edited copy was sent, and is not linked to its job.');
  return job.edited_copy.job_id;
}
