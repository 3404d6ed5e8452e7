import { EmrError } from '../errors.ts';
import { type Operation, read } from '../http/operation.ts';
import { findReceipt } from '../http/receipts.ts';
import { appointmentOperations } from './appointments.ts';
import { chartOperations } from './charts.ts';
import { documentOperations } from './documents.ts';
import { guarantorOperations } from './guarantors.ts';
import { insuranceOperations } from './insurances.ts';
import { loginOperations } from './login.ts';
import { noteOperations } from './notes.ts';
import { patientOperations } from './patients.ts';
import { paymentOperations } from './payments.ts';
import { practiceOperations } from './practice.ts';
import { referralOperations } from './referrals.ts';
import { taskOperations } from './tasks.ts';
import { telephoneEncounterOperations } from './telephoneEncounters.ts';

/** All operations of the EMR API. A test compares this list to docs/larkspur.md. */
export const operations: Operation[] = [
  ...loginOperations,
  ...practiceOperations,
  ...patientOperations,
  ...insuranceOperations,
  ...guarantorOperations,
  ...chartOperations,
  ...documentOperations,
  ...paymentOperations,
  ...telephoneEncounterOperations,
  ...taskOperations,
  ...noteOperations,
  ...referralOperations,
  ...appointmentOperations,
  read({
    name: 'find_receipt',
    path: '/api/receipts/:operation/:externalRef',
    handle: async ({ sql, params }) => {
      const receipt = await findReceipt(sql, params.operation, params.externalRef);
      if (!receipt) throw new EmrError('NOT_FOUND', 'No receipt for this operation and externalRef.');
      const { answer, ...head } = receipt;
      return { ...head, ...answer };
    },
  }),
];
