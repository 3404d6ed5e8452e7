import { Type } from 'typebox';
import { endpoint } from '../../../http/endpoint.ts';
import { connection_report, report_findings, report_outcome } from '../../../model/connectionReport.ts';
import { nullable, success } from '../../../model/fields.ts';
import { readAccountReport } from '../../../product/link/connectionReports.ts';

export default endpoint({
  id: 'account.connection-report',
  surface: 'api',
  group: 'Link',
  method: 'GET',
  path: '/v1/account/connection-report',
  auth: 'account',
  while_expired: true,
  audited: false,
  summary: 'Retrieve the connection report of an account',
  agent_tool: 'get_connection_report',
  description:
    'What was requested from the EMR’s server during the latest sign-in of the account, successful or not: discovery documents, scopes, and test requests with their status and duration. It contains no health data, token or secret, so you can send it to the EMR vendor’s support. `data` is null for EMRs without a report.',
  response: Type.Object({
    success,
    data: nullable(
      Type.Object(
        { ...connection_report.properties, ...report_outcome, findings: report_findings },
        { schema_name: 'ConnectionReport', description: 'What was requested from the EMR’s server during a sign-in' },
      ),
    ),
  }),
  handle: async ({ ctx, account }) => {
    const found = await readAccountReport(ctx.db, account);
    const { error_code = null, error_message = null, findings = [] } = found ?? {};
    return { success: true, data: found ? { ...found.report, error_code, error_message, findings } : null };
  },
});
