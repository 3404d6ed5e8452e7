import { type Static, Type } from 'typebox';
import { apiError } from '../../catalog/errors.ts';
import { job_id_max } from '../../catalog/ids.ts';
import { endpoint } from '../../http/endpoint.ts';
import { success, text } from '../../model/fields.ts';
import type { Client } from '../../product/clients/clients.ts';
import type { Context } from '../../product/context.ts';
import { ControlRefused, callControl, emr } from './faultSwitches.ts';
import { readSandbox } from './seedSandbox.ts';

export const open_path = '/sandbox/larkspur/open';

/** What to open: the patient of a job, at what it wrote, or a patient. */
export const opened_fields = {
  job_id: Type.Optional(
    Type.Integer({ minimum: 1, maximum: job_id_max, description: 'A finished job about a patient', examples: [1042] }),
  ),
  mrn: Type.Optional(
    text({ minLength: 1, maxLength: 200, description: 'The MRN of a patient', examples: ['LK100001'] }),
  ),
};
const opened = Type.Object(opened_fields);

export const opened_url = Type.String({
  description: 'Signs in to Larkspur once, within two minutes, and opens the page',
  examples: ['http://127.0.0.1:4100/open/EXAMPLE'],
});

/** Issued to the sandbox's own client only, because whoever opens it sees all charts of the practice. */
export const sandboxEmrOpen = endpoint({
  id: 'sandbox.larkspur.open',
  surface: 'api',
  group: 'Sandbox',
  method: 'POST',
  path: open_path,
  auth: 'client',
  sandbox: true,
  returns_secret: true,
  summary: 'Open a chart in Larkspur',
  description:
    'Returns a link that signs in to Larkspur, the sandbox’s EMR, and opens what a job wrote: the patient’s chart, the schedule or the claim, with the new entry highlighted. With `mrn` it opens the chart. The link works once, within two minutes.',
  body: Type.Object(opened_fields, {
    schema_name: 'SandboxLarkspurOpen',
    description: 'What to open: either `job_id` or `mrn`',
  }),
  response: Type.Object({ success, url: opened_url }),
  errors: ['record_not_found', 'patient_not_found', 'job_not_openable', 'sandbox_client_required', 'emr_unavailable'],
  example: { body: { mrn: 'LK100001' } },
  handle: async ({ ctx, client, body, inTransaction, auditPatients, auditSubject }) => {
    const { url, mrn } = await openInEmr(ctx, client, body);
    auditPatients([mrn]);
    auditSubject({ job_id: body.job_id });
    return inTransaction(async () => ({ success: true, url }));
  },
});

/**
 * A link that signs in to Larkspur's screens and opens what a job wrote, or a chart. Only for the client that the sandbox
 * created, because the screens show all patients of the practice. `mrn` is the patient's, for the audit log.
 */
export async function openInEmr(
  ctx: Context,
  client: Client,
  { job_id, mrn }: Static<typeof opened>,
): Promise<{ url: string; mrn: string | null }> {
  const sandbox = await readSandbox(ctx);
  if (!sandbox) throw apiError('emr_unavailable', { emr });
  if (client.public_id !== sandbox.client_id) throw apiError('sandbox_client_required');
  if ((job_id === undefined) === (mrn === undefined)) {
    throw apiError('invalid_field', { rule: 'Send either job_id or mrn' }, { field: 'job_id' });
  }
  const { larkspur } = sandbox;
  const written = job_id === undefined ? undefined : await requireWritten(ctx, client.id, job_id, larkspur.url);
  const patient_mrn = written?.mrn ?? mrn ?? null;
  const body = { external_refs: written?.markers ?? [], ...(patient_mrn === null ? {} : { mrn: patient_mrn }) };
  try {
    const { path } = await callControl<{ path: string }>(larkspur, 'POST', '/control/one-time-links', body);
    return { url: larkspur.url + path, mrn: patient_mrn };
  } catch (error) {
    if (!(error instanceof ControlRefused) || error.status !== 404) throw error;
    if (patient_mrn === null) throw apiError('job_not_openable', { reason: `Job ${job_id} is not about a patient.` });
    throw apiError('patient_not_found', undefined, { field: mrn === undefined ? 'job_id' : 'mrn', cause: error });
  }
}

type WrittenJob = { finished: boolean; connector: string; emr_address: string; mrn: string | null; markers: string[] };

/** What a finished job sent to Larkspur, by the markers of its steps, in all runs of its operation. */
async function requireWritten(ctx: Context, client_id: string, job_id: number, url: string): Promise<WrittenJob> {
  const [job] = await ctx.db.read<WrittenJob>(
    client_id,
    (sql) => sql`
      SELECT job.finished_at IS NOT NULL AS finished, organization.connector, organization.emr_address,
             coalesce(operation.patient_mrn, (SELECT mrn FROM patients WHERE patients.id = operation.id)) AS mrn,
             coalesce((SELECT json_agg(step.detail ->> 'marker' ORDER BY step.n)
                FROM jobs AS run JOIN job_steps AS step ON step.job_id = run.id
               WHERE run.operation_id = job.operation_id AND step.kind = 'intent'), '[]') AS markers
        FROM jobs AS job JOIN operations AS operation ON operation.id = job.operation_id
        JOIN organizations AS organization ON organization.id = job.organization_id
       WHERE job.client_id = ${client_id} AND job.id = ${job_id}`,
  );
  if (!job) throw apiError('record_not_found', { noun: 'Job', id: String(job_id) }, { field: 'job_id' });
  const reject = (reason: string) => apiError('job_not_openable', { reason: `Job ${job_id} ${reason}` });
  if (job.connector !== 'larkspur' || !isSameHost(job.emr_address, url)) throw reject('was sent to another EMR.');
  if (!job.finished) throw reject('has not finished yet. Open it after its event.');
  if (job.mrn === null && job.markers.length === 0) throw reject('is not about a patient.');
  return job;
}

function isSameHost(address: string, url: string): boolean {
  return new URL(address).host === new URL(url).host;
}
