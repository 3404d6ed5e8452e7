import { Type } from 'typebox';
import { endpoint, JsonText } from '../../http/endpoint.ts';
import { days, success, text } from '../../model/fields.ts';
import { Order } from '../../model/order.ts';
import { checkRange } from '../../records/checkRange.ts';
import { listOrders, orders_max } from '../../records/orders.ts';

export default endpoint({
  id: 'orders.list',
  surface: 'api',
  group: 'Claims and orders',
  method: 'GET',
  path: '/v1/orders',
  auth: 'account',
  needs: { operation: 'listOrders', label: 'orders' },
  summary: `List a patient’s orders, newest first, at most ${orders_max}`,
  query: Type.Object({ patient_mrn: text({ minLength: 1 }), ...days('order date') }),
  response: Type.Object({ success, orders: Type.Array(Order) }),
  handle: async ({ ctx, account, query, auditPatients }) => {
    checkRange(query);
    auditPatients([query.patient_mrn]);
    return new JsonText(await listOrders(ctx.db, account, query));
  },
});
