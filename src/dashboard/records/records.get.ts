import { Type } from 'typebox';
import { apiError } from '../../errors.ts';
import { endpoint } from '../../http/endpoint.ts';
import { parseId } from '../../ids.ts';
import { success } from '../../model/fields.ts';
import { isReadable, readRecord } from '../../records/readRecord.ts';
import { openOrganization } from './openOrganization.ts';
import { organization_path, record_params } from './organizationPath.ts';

export default endpoint({
  id: 'dashboard.records.get',
  surface: 'dashboard',
  method: 'GET',
  path: `${organization_path}/records/{kind}/{id}`,
  auth: 'operator_in_client',
  summary: 'One patient, appointment or claim',
  params: Type.Object({ ...record_params.properties, kind: Type.String() }),
  response: Type.Object({ success, record: Type.Object({}, { additionalProperties: true }) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, auditPatients }) => {
    const { kind } = params;
    const scope = await openOrganization(ctx, client, params);
    const id = parseId(params.id);
    const found = id && isReadable(kind) ? await readRecord(ctx.db, scope, kind, id) : undefined;
    if (!found) throw apiError('record_not_found', { noun: 'Record', id: params.id });
    auditPatients([found.mrn]);
    return { success: true, record: found.record };
  },
});
