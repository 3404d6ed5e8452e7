import { Type } from 'typebox';
import { listOperators } from '../../clients/operators.ts';
import { endpoint } from '../../http/endpoint.ts';
import { operator_row } from '../../model/dashboard/settings.ts';
import { success } from '../../model/fields.ts';

export default endpoint({
  id: 'dashboard.operators.list',
  method: 'GET',
  path: '/dashboard/api/operators',
  auth: 'operator',
  summary: 'Who runs this installation',
  response: Type.Object({ success, operators: Type.Array(operator_row) }),
  handle: async ({ ctx }) => ({ success: true, operators: await listOperators(ctx) }),
});
