import { Type } from 'typebox';
import { type ReadOperation, read, write } from '../http/operation.ts';
import { facilities, insuranceCompanies, pharmacies } from '../practice/organizations.ts';
import { getPractice, listCodes, requiredPatientFields } from '../practice/practice.ts';
import { listReferringProviders, providers, referringProviders, rejectKnownNpi } from '../practice/providers.ts';
import { visitStatuses, visitTypes } from '../practice/scheduling.ts';
import { staff } from '../practice/staff.ts';
import { shortAddress, text } from '../records/fields.ts';
import { createRecord, listRecords, pathSegment, type RecordKind } from '../records/recordKind.ts';
import { optional, pageFields, parsePage, requiredText, writeBody } from './schemas.ts';

const VERSION = '1.0';

export const practiceOperations = [
  read({
    name: 'get_practice',
    path: '/api/practice',
    public: true,
    handle: async ({ sql }) => ({ product: 'Larkspur', version: VERSION, ...(await getPractice(sql)) }),
  }),
  list(providers),
  list(staff),
  list(facilities),
  list(pharmacies),
  list(insuranceCompanies),
  read({
    name: 'list_referring_providers',
    path: '/api/referring-providers',
    query: Type.Object({ ...pageFields, firstName: Type.Optional(text), lastName: Type.Optional(text) }),
    handle: ({ sql, query }) => listReferringProviders(sql, query, parsePage(query)),
  }),
  write({
    name: 'create_referring_provider',
    path: '/api/referring-providers',
    body: writeBody({
      firstName: requiredText(200),
      lastName: requiredText(200),
      npi: Type.String({ pattern: '^[0-9]{10}$' }),
      phone: optional(text),
      fax: optional(text),
      email: optional(text),
      address: Type.Optional(shortAddress),
    }),
    patientMrn: async () => undefined,
    write: async ({ sql, context, body: { externalRef: _reference, ...provider } }) => {
      await rejectKnownNpi(sql, provider.npi);
      const change = await createRecord(sql, referringProviders, provider, context.now());
      return { record_id: change.record_id, changes: [change] };
    },
  }),
  list(visitTypes),
  list(visitStatuses),
  read({
    name: 'get_code_lists',
    path: '/api/code-lists',
    handle: async ({ sql }) => ({
      languages: await listCodes(sql, 'language'),
      races: await listCodes(sql, 'race'),
      ethnicities: await listCodes(sql, 'ethnicity'),
      paymentMethods: await listCodes(sql, 'payment_method'),
      phoneCallTypes: await listCodes(sql, 'phone_call_type'),
      requiredPatientFields: await requiredPatientFields(sql),
    }),
  }),
];

function list(kind: RecordKind): ReadOperation {
  return read({
    name: `list_${kind.table}`,
    path: `/api/${pathSegment(kind)}`,
    query: Type.Object(pageFields),
    handle: ({ sql, query }) => listRecords(sql, kind, parsePage(query)),
  });
}
