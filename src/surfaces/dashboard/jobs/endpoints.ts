import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { job_id_max, parseId } from '../../../catalog/ids.ts';
import { type Endpoint, endpoint, WithHeaders } from '../../../http/endpoint.ts';
import { details_hidden } from '../../../http/hidePatients.ts';
import { nullable, success, text } from '../../../model/fields.ts';
import type { Query } from '../../../platform/db/database.ts';
import { recordedTraceId } from '../../../platform/telemetry/telemetry.ts';
import { requireConnector } from '../../../product/accounts/connectAccount.ts';
import { review_outcomes, reviewJob } from '../../../product/jobs/jobs.ts';
import { type JobFilters, readJobPatients, readRerunCandidate } from '../../../product/jobs/listJobs.ts';
import { type CancelledJob, cancelJob } from '../../../product/writes/cancelJob.ts';
import { auditTrail, savedFields } from '../../../product/writes/defineWrite.ts';
import { findEditBlocker } from '../../../product/writes/editJob.ts';
import { jobsOfPatient } from '../../../product/writes/patients/patientLane.ts';
import { findRerunBlocker, rerunJob } from '../../../product/writes/rerunJob.ts';
import { describeEvent } from '../events/queries.ts';
import { edit_endpoints, readJobId } from './edit.ts';
import { describeJob, exportJobs, findChart, listCounted, listRelated } from './queries.ts';
import { describeRequest } from './references.ts';
import {
  type JobDetails,
  type JobEvent,
  type JobStep,
  job_count,
  job_details,
  job_filter_fields,
  job_patient,
  job_row,
  patient_filter_fields,
} from './schema.ts';

const { before: _before, page_size: _page_size, ...export_filters } = job_filter_fields;

const job_page = Type.Object({ success, rows: Type.Array(job_row), next: nullable(Type.String()), count: job_count });

export const jobs_endpoints: readonly Endpoint[] = [
  endpoint({
    id: 'dashboard.jobs.list',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/jobs',
    auth: 'operator_in_client',
    // Rows contain nothing about a patient.
    audited: false,
    summary: 'List jobs, newest first',
    params: Type.Object({ client_id: Type.String() }),
    query: Type.Object(job_filter_fields),
    response: job_page,
    errors: ['invalid_field'],
    handle: async ({ ctx, client, query }) => ({
      success: true,
      ...(await listCounted(ctx.db, client.id, readFilters(query))),
    }),
  }),
  // A POST, because an MRN or a reference must not appear in a URL.
  endpoint({
    id: 'dashboard.jobs.search',
    surface: 'dashboard',
    method: 'POST',
    reads: true,
    path: '/dashboard/api/clients/{client_id}/jobs/search',
    auth: 'operator_in_client',
    role: 'read_only',
    summary: 'Search jobs by patient or reference, newest first',
    params: Type.Object({ client_id: Type.String() }),
    body_filters: true,
    body: Type.Object({ ...patient_filter_fields, ...job_filter_fields }),
    response: job_page,
    errors: ['invalid_field'],
    handle: async ({ ctx, client, body: { mrn, ...filters }, auditPatients }) => {
      auditPatients([mrn]);
      const page = await listCounted(ctx.db, client.id, readFilters(filters), jobsAbout(client.id, mrn));
      return { success: true, ...page };
    },
  }),
  // What the list rows leave out. A call of its own, so that live updates of the list do not fill the audit log.
  endpoint({
    id: 'dashboard.jobs.patients',
    surface: 'dashboard',
    method: 'POST',
    reads: true,
    path: '/dashboard/api/clients/{client_id}/jobs/patients',
    auth: 'operator_in_client',
    role: 'support',
    summary: 'Retrieve the MRNs and failure reasons of listed jobs',
    params: Type.Object({ client_id: Type.String() }),
    body: Type.Object({
      job_ids: Type.Array(Type.Integer({ minimum: 0, maximum: job_id_max }), { minItems: 1, maxItems: 200 }),
    }),
    response: Type.Object({ success, patients: Type.Array(job_patient) }),
    handle: async ({ ctx, client, body, auditPatients }) => {
      const patients = await readJobPatients(ctx.db, client.id, body.job_ids);
      auditPatients(patients.map(({ mrn }) => mrn));
      return { success: true, patients };
    },
  }),
  // A POST, because an MRN must not appear in a URL.
  endpoint({
    id: 'dashboard.jobs.export',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/jobs/export.csv',
    auth: 'operator_in_client',
    role: 'read_only',
    summary: 'Export the newest 5,000 matching jobs as CSV',
    params: Type.Object({ client_id: Type.String() }),
    body_filters: true,
    body: Type.Object({ ...patient_filter_fields, ...export_filters }),
    response: Type.String(),
    errors: ['invalid_field'],
    handle: async ({ ctx, client, body: { mrn, ...filters }, auditPatients, auditSubject }) => {
      const { csv, jobs, mrns } = await exportJobs(ctx.db, client.id, readFilters(filters), jobsAbout(client.id, mrn));
      auditPatients(mrn === undefined ? mrns : [mrn, ...mrns]);
      auditSubject({ detail: { jobs, filters: Object.keys(filters) } });
      return new WithHeaders(csv, {
        'content-type': 'text/csv; charset=utf-8',
        'content-disposition': 'attachment; filename="jobs.csv"',
      });
    },
  }),
  endpoint({
    id: 'dashboard.jobs.get',
    surface: 'dashboard',
    method: 'GET',
    path: '/dashboard/api/clients/{client_id}/jobs/{job_id}',
    auth: 'operator_in_client',
    summary: 'Retrieve a job with its request, timeline and event',
    params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
    reveals: { kind: 'job', param: 'job_id' },
    response: Type.Object({ success, job: job_details, details_hidden }),
    errors: ['record_not_found'],
    handle: async ({ ctx, client, params, auditPatients }) => {
      const job_id = readJobId(params.job_id);
      const described = await describeJob(ctx.db, client.id, job_id);
      const blockers = await ctx.db.tenant(client.id, async (tx) => {
        const candidate = await readRerunCandidate(tx, job_id, { lock: false });
        return candidate && { again: await findRerunBlocker(tx, candidate), edit: findEditBlocker(candidate) };
      });
      if (!described) throw apiError('record_not_found', { noun: 'Job', id: params.job_id });
      auditPatients([described.patient_mrn]);
      const { connector, event_id, traceparent, attempt_traceparent, ...rest } = described;
      const event = event_id === null ? undefined : await describeEvent(ctx.db, client.id, event_id);
      const { patient_mrn: mrn } = rest;
      const related = mrn === null ? [] : await listRelated(ctx.db, client.id, mrn, rest);
      const job: JobDetails = {
        ...rest,
        request: await describeRequest(ctx.db, { client_id: client.id, ...rest }),
        existing_patient: await findChart(ctx.db, client.id, rest),
        emr: requireConnector(ctx, connector).display_name,
        changes: auditTrail(savedFields(listOutcomes(rest.steps))),
        event: event ? withoutPayload(event) : null,
        event_gone: event_id !== null && !event,
        request_trace_id: recordedTraceId(traceparent),
        attempt_trace_id: recordedTraceId(attempt_traceparent),
        related,
        not_again: blockers?.again ?? null,
        not_editable: blockers?.edit ?? null,
      };
      return { success: true, job };
    },
  }),
  endpoint({
    id: 'dashboard.jobs.run-again',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/jobs/{job_id}/run-again',
    auth: 'operator_in_client',
    summary: 'Run a finished job again',
    params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success, job_id: Type.Integer() }),
    errors: ['record_not_found', 'job_not_repeatable'],
    handle: async ({ ctx, client, params, inTransaction, auditPatients }) => {
      const response = await inTransaction(async (tx) => {
        const { job_id, patient_mrn } = await rerunJob(ctx, tx, readJobId(params.job_id));
        auditPatients([patient_mrn]);
        return { success: true, job_id };
      });
      ctx.notifications.notify('chartwire_jobs', client.id);
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.jobs.cancel',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/jobs/{job_id}/cancel',
    auth: 'operator_in_client',
    summary: 'Cancel a job that has sent nothing to the EMR',
    params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
    body: Type.Object({}),
    response: Type.Object({ success }),
    errors: ['record_not_found', 'job_started'],
    handle: async ({ ctx, params, inTransaction, auditPatients, auditSubject }) => {
      let cancelled: CancelledJob | undefined;
      const response = await inTransaction(async (tx) => {
        cancelled = await cancelJob(ctx, tx, readJobId(params.job_id));
        auditPatients([cancelled.patient_mrn]);
        auditSubject({ subject: cancelled.operation_id, job_id: cancelled.job_id });
        return { success: true };
      });
      cancelled?.committed();
      return response;
    },
  }),
  endpoint({
    id: 'dashboard.jobs.review',
    surface: 'dashboard',
    method: 'POST',
    path: '/dashboard/api/clients/{client_id}/jobs/{job_id}/review',
    auth: 'operator_in_client',
    summary: 'Resolve a job whose outcome is unknown',
    params: Type.Object({ client_id: Type.String(), job_id: Type.String() }),
    body: Type.Object({ outcome: Type.Enum([...review_outcomes]), note: text({ minLength: 1 }) }),
    response: Type.Object({ success }),
    errors: ['record_not_found', 'job_not_reviewable'],
    handle: async ({ ctx, client, params, body, operator, inTransaction, auditPatients }) => {
      const response = await inTransaction(async (tx) => {
        auditPatients([await reviewJob(tx, readJobId(params.job_id), { ...body, by: operator.email })]);
        return { success: true };
      });
      ctx.notifications.notify('chartwire_live', `jobs ${client.id}`);
      return response;
    },
  }),
  ...edit_endpoints,
];

/** Limits a list to the jobs of a patient, if there is one. */
function jobsAbout(client_id: string, mrn: string | undefined) {
  return mrn === undefined ? undefined : (sql: Query) => jobsOfPatient(sql, client_id, mrn);
}

/** Parses ids into the database's form. */
function readFilters(filters: JobFilters): JobFilters {
  const ids = (['account_id', 'organization_id'] as const).flatMap((field) => {
    const sent = filters[field];
    if (sent === undefined) return [];
    const id = parseId(sent);
    if (!id) throw apiError('invalid_field', { rule: `${field} must be an ID` }, { field });
    return [[field, id] as const];
  });
  return { ...filters, ...Object.fromEntries(ids) };
}

function listOutcomes(steps: JobStep[]): Record<string, unknown>[] {
  return steps.flatMap(({ kind, detail }) => (kind === 'outcome' && detail !== null ? [detail] : []));
}

/** The payload is shown on the event's own page. */
function withoutPayload({ id, type, created_at, deliveries }: JobEvent): JobEvent {
  return { id, type, created_at, deliveries };
}
