import { Type } from 'typebox';
import { patientFilter, patients } from '../charts/patients.ts';
import { type ReadOperation, read } from '../machine/operation.ts';
import { getRecord, listRecords, type Page, type RecordKind } from '../machine/recordKind.ts';
import { facilities } from '../practice/facilities.ts';
import { text, usDate } from '../practice/fields.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { providers } from '../practice/providers.ts';
import { staff } from '../practice/staff.ts';

const PAGE_SIZE_MAX = 500;
const PAGE_SIZE_DEFAULT = 200;

const whole = Type.Optional(Type.String({ pattern: '^[1-9][0-9]{0,6}$' }));
const paging = { page: whole, pageSize: whole };

export const listOperations = [
  list(providers),
  list(staff),
  list(facilities),
  list(pharmacies),
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
    handle: ({ sql, params }) => getRecord(sql, patients, params.patientId),
  }),
];

function list(kind: RecordKind): ReadOperation {
  return read({
    name: `list_${kind.table}`,
    method: 'GET',
    path: `/api/${kind.table}`,
    search: Type.Object(paging),
    handle: ({ sql, search }) => listRecords(sql, kind, pageOf(search)),
  });
}

function pageOf({ page, pageSize }: { page?: string; pageSize?: string }): Page {
  return { page: Number(page ?? 1), pageSize: Math.min(Number(pageSize ?? PAGE_SIZE_DEFAULT), PAGE_SIZE_MAX) };
}
