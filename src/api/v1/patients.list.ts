import { Type } from 'typebox';
import { pagination, paging, success, text } from '../../model/fields.ts';
import { Patient } from '../../model/patient.ts';
import { listPatients } from '../../records/patients.ts';
import { endpoint, JsonText } from '../endpoint.ts';

export default endpoint({
  id: 'patients.list',
  method: 'GET',
  path: '/v1/patients',
  auth: 'account',
  summary: 'List the patients of the organisation, as of its last sync',
  query: Type.Object({
    dob: Type.Optional(Type.String({ format: 'date', description: 'YYYY-MM-DD' })),
    first_name: Type.Optional(text({ minLength: 1, description: 'Any part of the name, in any case' })),
    last_name: Type.Optional(text({ minLength: 1, description: 'Any part of the name, in any case' })),
    mrn: Type.Optional(text({ minLength: 1 })),
    ehr_id: Type.Optional(text({ minLength: 1 })),
    phone: Type.Optional(text({ minLength: 1, description: 'Home or cell phone, NNN-NNN-NNNN' })),
    ...paging(100, 1000),
  }),
  response: Type.Object({ success, patients: Type.Array(Patient), pagination }),
  handle: async ({ ctx, account, query }) => new JsonText(await listPatients(ctx.db, account, query)),
});
