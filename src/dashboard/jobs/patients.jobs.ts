import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { listJobs } from '../../jobs/listJobs.ts';
import { job_row } from '../../model/dashboard/jobs.ts';
import { success } from '../../model/fields.ts';
import { patients } from '../../model/records/patients.ts';
import { readRecord } from '../../records/readRecords.ts';
import { jobsOfPatient } from '../../writes/patients/jobsOfPatient.ts';
import { openOrganization, organization_path, record_params } from '../records/organization.ts';

export default endpoint({
  id: 'dashboard.patients.jobs',
  method: 'GET',
  path: `${organization_path}/patients/{id}/jobs`,
  auth: 'operator_in_client',
  summary: 'The newest jobs of a patient',
  params: record_params,
  response: Type.Object({ success, jobs: Type.Array(job_row) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const scope = await openOrganization(ctx, client, params);
    const id = parseId(params.id);
    const patient = id && (await readRecord(ctx.db, scope, patients, id));
    if (!patient) throw apiError('record_not_found', { noun: 'Patient', id: params.id });
    auditPatients([patient.mrn]);
    // A patient whom the EMR does not have yet has no MRN, and no jobs but those of the creation.
    const { mrn } = patient;
    const found = await listJobs(ctx.db, client.id, { page_size: 100 }, (sql) =>
      mrn === null ? sql`SELECT id FROM jobs WHERE operation_id = ${id}` : jobsOfPatient(sql, client.id, mrn),
    );
    return { success: true, jobs: found.rows };
  },
});
