import { EmrError } from '../errors.ts';
import { read } from '../machine/operation.ts';
import { findReceipt } from '../machine/receipts.ts';

export const receiptOperations = [
  read({
    name: 'find_receipt',
    method: 'GET',
    path: '/api/receipts/:operation/:externalRef',
    handle: async ({ sql, params }) => {
      const receipt = await findReceipt(sql, params.operation, params.externalRef);
      if (!receipt) throw new EmrError('NOT_FOUND', 'No receipt for this operation and externalRef.');
      const { answer, ...head } = receipt;
      return { ...head, ...answer };
    },
  }),
];
