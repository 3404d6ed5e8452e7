import { Type } from 'typebox';
import { endpoint } from '../api/endpoint.ts';
import { refusal } from '../errors.ts';
import { parseId } from '../ids.ts';
import { success } from '../model/fields.ts';
import { isReadable, readRecord } from '../records/readRecord.ts';
import { openOrganisation } from './openOrganisation.ts';
import { organisation_path, record_params } from './organisationPath.ts';

export default endpoint({
  id: 'dashboard.records.get',
  method: 'GET',
  path: `${organisation_path}/records/{kind}/{id}`,
  auth: 'operator_in_client',
  summary: 'One patient, appointment or claim',
  params: Type.Object({ ...record_params.properties, kind: Type.String() }),
  response: Type.Object({ success, record: Type.Object({}, { additionalProperties: true }) }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params, saw }) => {
    const { kind } = params;
    const scope = await openOrganisation(ctx, client, params);
    const id = parseId(params.id);
    const found = id && isReadable(kind) ? await readRecord(ctx.db, scope, kind, id) : undefined;
    if (!found) throw refusal('record_not_found', { noun: 'Record', id: params.id });
    saw([found.mrn]);
    return { success: true, record: found.record };
  },
});
