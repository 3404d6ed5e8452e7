import { Type } from 'typebox';
import { apiError } from '../../../catalog/errors.ts';
import { parseId } from '../../../catalog/ids.ts';
import { endpoint } from '../../../http/endpoint.ts';
import { dashboard_kinds } from '../../../model/dashboard/recordKinds.ts';
import { details_hidden } from '../../../model/dashboard/reveals.ts';
import { patientDetail, success } from '../../../model/fields.ts';
import { findKind } from '../../../model/records/kinds.ts';
import { readRecord } from '../../../product/records/readRecords.ts';
import { openOrganization, organization_path, record_params } from './organization.ts';

const about_patients = dashboard_kinds.filter(({ mrn_column }) => mrn_column !== undefined);

export default endpoint({
  id: 'dashboard.records.get',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records/{kind}/{id}`,
  auth: 'operator_in_client',
  summary: 'Retrieve a record of a patient',
  params: Type.Object({ ...record_params.properties, kind: Type.String() }),
  reveals: { kind: 'patient', param: 'id' },
  response: Type.Object({
    success,
    record: patientDetail(Type.Union(about_patients.map(({ wire }) => wire))),
    details_hidden,
  }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const scope = await openOrganization(ctx, client, params);
    const [kind, id] = [findKind(params.kind), parseId(params.id)];
    const found = kind && id && (await readRecord(ctx.db, scope, kind, id));
    if (!found) throw apiError('record_not_found', { noun: 'Record', id: params.id });
    auditPatients([found.mrn]);
    return { success: true, record: found.record };
  },
});
