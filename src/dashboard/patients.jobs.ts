import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { parseId } from '../ids.ts';
import { listLaneJobs } from '../jobs/jobs.ts';
import { patient_job } from '../model/dashboard/records.ts';
import { success } from '../model/fields.ts';
import { readRecord } from '../records/readRecord.ts';
import { patientLane } from '../writes/write.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_path, record_params } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.patients.jobs',
  method: 'GET',
  path: `${organisation_path}/patients/{id}/jobs`,
  auth: 'operator_in_client',
  summary: 'The newest jobs of a patient',
  params: record_params,
  response: Type.Object({ success, jobs: Type.Array(patient_job) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, saw }) => {
    const scope = await openOrganisation(ctx, client, params);
    const id = parseId(params.id);
    const patient = id && (await readRecord(ctx.db, scope, 'patients', id));
    if (!patient) throw refusal('record_not_found', { noun: 'Patient', id: params.id });
    saw([patient.mrn]);
    // A patient whom the EMR does not have yet has no MRN, and no lane but its own.
    const { key, before } = patientLane(patient.mrn ?? '', id);
    const lanes = patient.mrn === null || before === undefined ? [key] : [key, before];
    return { success: true, jobs: await listLaneJobs(ctx.db, scope, lanes) };
  },
});
