import { Type } from 'typebox';
import { connectorOf } from '../../accounts/openAccount.ts';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { describeJob } from '../../jobs/describeJob.ts';
import { readRerunCandidate } from '../../jobs/rerunCandidate.ts';
import { type JobEvent, type JobStep, type JobWhole, job_whole } from '../../model/dashboard/jobs.ts';
import { success } from '../../model/fields.ts';
import { describeEvent } from '../../webhooks/describeEvent.ts';
import { auditTrail, savedFields } from '../../writes/auditTrail.ts';
import { findRerunBlocker } from '../../writes/rerunJob.ts';
import { readJobId } from './readJobId.ts';

export default endpoint({
  id: 'dashboard.jobs.get',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/jobs/{job_id}',
  auth: 'operator_in_client',
  summary: 'One job with its timeline, its event and what was asked for',
  params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
  response: Type.Object({ success, job: job_whole }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const job_id = readJobId(params.job_id);
    const described = await describeJob(ctx.db, client.id, job_id);
    const not_again = await ctx.db.tenant(client.id, async (tx) => {
      const candidate = await readRerunCandidate(tx, job_id, { lock: false });
      return candidate && (await findRerunBlocker(tx, candidate));
    });
    if (!described) throw apiError('record_not_found', { noun: 'Job', id: params.job_id });
    auditPatients([described.patient_mrn]);
    const { connector, event_id, ...rest } = described;
    const event = event_id === null ? undefined : await describeEvent(ctx.db, client.id, event_id);
    const job: JobWhole = {
      ...rest,
      emr: connectorOf(ctx, connector).display_name,
      changes: auditTrail(savedFields(outcomesOf(rest.steps))),
      event: event ? jobEventOf(event) : null,
      event_gone: event_id !== null && !event,
      not_again: not_again ?? null,
    };
    return { success: true, job };
  },
});

/** Its payload is on its own page. */
function jobEventOf({ id, type, created_at, deliveries }: JobEvent): JobEvent {
  return { id, type, created_at, deliveries };
}

function outcomesOf(steps: JobStep[]): Record<string, unknown>[] {
  return steps.flatMap(({ kind, detail }) => (kind === 'outcome' && detail !== null ? [detail] : []));
}
