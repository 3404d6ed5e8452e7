import { type Static, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { OrderSource } from '../../model/records/orders.ts';
import { defineList } from './lists.ts';
import { type LarkspurOperation, listing } from './operation.ts';
import { blankToNull, id, isoDate, requiredDate, text, textOrNull } from './values.ts';

const LabResults = Type.Object({
  status: text,
  collectedOn: textOrNull,
  resultedOn: textOrNull,
  laboratory: textOrNull,
  results: Type.Array(
    Type.Object({ test: text, value: text, unit: textOrNull, range: textOrNull, abnormalFlag: textOrNull }),
  ),
});

const orders = defineList({
  path: '/api/orders',
  row: Compile(
    Type.Object({
      orderId: id,
      name: text,
      orderDate: text,
      providerId: textOrNull,
      mrn: id,
      patientName: textOrNull,
      birthDate: textOrNull,
      appointmentId: textOrNull,
      priority: textOrNull,
      assignedTo: Type.Union([Type.Object({ staffId: id, name: textOrNull }), Type.Null()]),
      labResults: Type.Union([LabResults, Type.Null()]),
    }),
  ),
  toSource: (row): OrderSource => ({
    ehr_id: row.orderId,
    order_name: row.name,
    order_date: requiredDate(row.orderDate),
    provider_id: blankToNull(row.providerId),
    patient_mrn: row.mrn,
    patient_name: blankToNull(row.patientName),
    patient_dob: isoDate(row.birthDate),
    appointment_id: blankToNull(row.appointmentId),
    priority: blankToNull(row.priority),
    assigned_to_name: blankToNull(row.assignedTo?.name ?? null),
    emr_assigned_to_id: row.assignedTo?.staffId ?? null,
    lab_results: row.labResults && toLabResults(row.labResults),
  }),
});

function toLabResults({ status, collectedOn, resultedOn, laboratory, results }: Static<typeof LabResults>) {
  return {
    status,
    collected_on: isoDate(collectedOn),
    resulted_on: isoDate(resultedOn),
    laboratory: blankToNull(laboratory),
    results: results.map(({ test, value, unit, range, abnormalFlag }) => ({
      test,
      value,
      unit: blankToNull(unit),
      range: blankToNull(range),
      abnormal_flag: blankToNull(abnormalFlag),
    })),
  };
}

export const order_operations: readonly LarkspurOperation[] = [{ operation: 'listOrders', open: listing(orders) }];
