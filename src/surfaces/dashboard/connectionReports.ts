import { Type } from 'typebox';
import { endpoint } from '../../http/endpoint.ts';
import { report_details, report_row } from '../../model/connectionReport.ts';
import { success } from '../../model/fields.ts';
import { getReport, listReports } from '../../product/link/connectionReports.ts';

export const reportsList = endpoint({
  id: 'dashboard.connection-reports.list',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/connection-reports',
  auth: 'operator_in_client',
  audited: false,
  summary: 'List the latest sign-in of each account and the failed ones of links',
  params: Type.Object({ client_id: Type.String() }),
  response: Type.Object({ success, reports: Type.Array(report_row) }),
  handle: async ({ ctx, client }) => ({ success: true, reports: await listReports(ctx.db, client.id) }),
});

export const reportsGet = endpoint({
  id: 'dashboard.connection-reports.get',
  surface: 'dashboard',
  method: 'GET',
  path: '/dashboard/api/clients/{client_id}/connection-reports/{report_id}',
  auth: 'operator_in_client',
  audited: false,
  summary: 'Retrieve a connection report',
  params: Type.Object({ client_id: Type.String(), report_id: Type.String() }),
  response: Type.Object({ success, report: report_details }),
  errors: ['record_not_found'],
  handle: async ({ ctx, client, params }) => ({
    success: true,
    report: await getReport(ctx.db, client.id, params.report_id),
  }),
});
