import type { Operation } from '../machine/operation.ts';
import { appointmentOperations } from './appointments.ts';
import { chartOperations } from './charts.ts';
import { documentOperations } from './documents.ts';
import { guarantorOperations } from './guarantors.ts';
import { insuranceOperations } from './insurances.ts';
import { listOperations } from './lists.ts';
import { loginOperations } from './login.ts';
import { patientListOperations } from './patientLists.ts';
import { patientWriteOperations } from './patientWrites.ts';
import { practiceOperations } from './practice.ts';
import { receiptOperations } from './receipts.ts';
import { telephoneEncounterOperations } from './telephoneEncounters.ts';

/** Everything Larkspur does over its API. A new operation is one declaration, listed here and in docs/larkspur.md. */
export const operations: Operation[] = [
  ...practiceOperations,
  ...loginOperations,
  ...listOperations,
  ...patientListOperations,
  ...telephoneEncounterOperations,
  ...patientWriteOperations,
  ...insuranceOperations,
  ...guarantorOperations,
  ...appointmentOperations,
  ...chartOperations,
  ...documentOperations,
  ...receiptOperations,
];
