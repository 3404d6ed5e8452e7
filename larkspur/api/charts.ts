import { Type } from 'typebox';
import { getAlerts } from '../charts/alerts.ts';
import { getBalances } from '../charts/balances.ts';
import { claimFilter, claims } from '../charts/claims.ts';
import { listEncounters } from '../charts/encounters.ts';
import { listOrders } from '../charts/orders.ts';
import { patients } from '../charts/patients.ts';
import { read } from '../machine/operation.ts';
import { getRecord, listRecords } from '../machine/recordKind.ts';
import { text } from '../practice/fields.ts';
import { pageOf, paging } from './paging.ts';

const isoMoment = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9]{2}:[0-9]{2})$' });

export const chartOperations = [
  read({
    name: 'list_claims',
    method: 'GET',
    path: '/api/claims',
    search: Type.Object({ ...paging, modifiedSince: Type.Optional(isoMoment), mrn: Type.Optional(text) }),
    handle: ({ sql, search }) => listRecords(sql, claims, pageOf(search), claimFilter(sql, search)),
  }),
  read({
    name: 'get_claim',
    method: 'GET',
    path: '/api/claims/:claimId',
    handle: ({ sql, params }) => getRecord(sql, claims, params.claimId),
  }),
  read({
    name: 'list_orders',
    method: 'GET',
    path: '/api/orders',
    search: Type.Object({ ...paging, mrn: Type.Optional(text) }),
    handle: ({ sql, search }) => listOrders(sql, search.mrn, pageOf(search)),
  }),
  read({
    name: 'get_balances',
    method: 'GET',
    path: '/api/patients/:patientId/balances',
    handle: async ({ sql, params }) => {
      await getRecord(sql, patients, params.patientId);
      return getBalances(sql, params.patientId);
    },
  }),
  read({
    name: 'get_alerts',
    method: 'GET',
    path: '/api/patients/:patientId/alerts',
    handle: async ({ sql, params }) => {
      await getRecord(sql, patients, params.patientId);
      return getAlerts(sql, params.patientId);
    },
  }),
  read({
    name: 'list_encounters',
    method: 'GET',
    path: '/api/patients/:patientId/encounters',
    search: Type.Object(paging),
    handle: async ({ sql, params, search }) => {
      await getRecord(sql, patients, params.patientId);
      return listEncounters(sql, params.patientId, pageOf(search));
    },
  }),
];
