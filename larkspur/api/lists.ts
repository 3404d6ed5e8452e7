import { Type } from 'typebox';
import { patientFilter, patients } from '../charts/patients.ts';
import { getWholePatient } from '../charts/wholePatient.ts';
import { type ReadOperation, read } from '../machine/operation.ts';
import { listRecords, pathOf, type RecordKind } from '../machine/recordKind.ts';
import { listCodes } from '../practice/codes.ts';
import { facilities } from '../practice/facilities.ts';
import { text, usDate } from '../practice/fields.ts';
import { insuranceCompanies } from '../practice/insuranceCompanies.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { providers } from '../practice/providers.ts';
import { referringProviders } from '../practice/referringProviders.ts';
import { requiredPatientFields } from '../practice/settings.ts';
import { staff } from '../practice/staff.ts';
import { visitStatuses } from '../practice/visitStatuses.ts';
import { visitTypes } from '../practice/visitTypes.ts';
import { pageOf, paging } from './paging.ts';

export const listOperations = [
  list(providers),
  list(staff),
  list(facilities),
  list(pharmacies),
  list(insuranceCompanies),
  list(referringProviders),
  list(visitTypes),
  list(visitStatuses),
  read({
    name: 'get_code_lists',
    method: 'GET',
    path: '/api/code-lists',
    handle: async ({ sql }) => ({
      languages: await listCodes(sql, 'language'),
      races: await listCodes(sql, 'race'),
      ethnicities: await listCodes(sql, 'ethnicity'),
      requiredPatientFields: await requiredPatientFields(sql),
    }),
  }),
  read({
    name: 'list_patients',
    method: 'GET',
    path: '/api/patients',
    search: Type.Object({
      ...paging,
      mrn: Type.Optional(text),
      lastName: Type.Optional(text),
      firstName: Type.Optional(text),
      birthDate: Type.Optional(usDate),
      phone: Type.Optional(text),
    }),
    handle: ({ sql, search }) => listRecords(sql, patients, pageOf(search), patientFilter(sql, search)),
  }),
  read({
    name: 'get_patient',
    method: 'GET',
    path: '/api/patients/:patientId',
    handle: ({ sql, params }) => getWholePatient(sql, params.patientId),
  }),
];

function list(kind: RecordKind): ReadOperation {
  return read({
    name: `list_${kind.table}`,
    method: 'GET',
    path: `/api/${pathOf(kind)}`,
    search: Type.Object(paging),
    handle: ({ sql, search }) => listRecords(sql, kind, pageOf(search)),
  });
}
