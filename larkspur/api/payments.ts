import { findMrn, patients } from '../charts/patients.ts';
import { listPayments, postPayment } from '../charts/payments.ts';
import { EmrError } from '../errors.ts';
import { write } from '../http/operation.ts';
import { facilities } from '../practice/organizations.ts';
import { listCodes, todayAtPractice } from '../practice/practice.ts';
import { money, TEXT_MAX, usDate } from '../records/fields.ts';
import { getRecord, requireActive } from '../records/recordKind.ts';
import { listOfPatient } from './charts.ts';
import { optional, recordId, requiredText, textUpTo, writeBody } from './schemas.ts';

export const paymentOperations = [
  listOfPatient('list_payments', 'payments', listPayments),
  write({
    name: 'post_payment',
    path: '/api/patients/:patientId/payments',
    body: writeBody({
      amount: money,
      methodCode: recordId,
      referenceNumber: requiredText(TEXT_MAX),
      facilityId: recordId,
      depositDate: optional(usDate),
      notes: optional(textUpTo(100_000)),
    }),
    patientMrn: (sql, params) => findMrn(sql, params.patientId),
    write: async ({ sql, context, session, params: { patientId }, body }) => {
      await getRecord(sql, patients, patientId);
      await requireActive(sql, facilities, body.facilityId);
      if (Number(body.amount) <= 0) throw new EmrError('RULE_BROKEN', 'The amount of a payment must be more than 0.');
      const methods = await listCodes(sql, 'payment_method');
      const method = methods.find(({ code }) => code === body.methodCode);
      if (!method) {
        const accepted = methods.map(({ name }) => name);
        throw new EmrError('UNKNOWN_VALUE', `Unknown payment method. Accepted: ${accepted.join(', ')}.`, {
          field: 'methodCode',
          accepted,
        });
      }
      const payment = {
        patientId,
        depositDate: body.depositDate ?? (await todayAtPractice(sql, context.now())),
        amount: body.amount,
        methodCode: method.code,
        methodName: method.name,
        referenceNumber: body.referenceNumber,
        facilityId: body.facilityId,
        notes: body.notes ?? null,
        createdBy: session.displayName,
      };
      const [posted, ...changes] = await postPayment(sql, payment, context.now());
      return { record_id: posted?.record_id ?? '', changes: [posted ?? [], ...changes].flat() };
    },
  }),
];
