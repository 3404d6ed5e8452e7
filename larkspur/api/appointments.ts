import { Type } from 'typebox';
import {
  appointments,
  dateRangeFilter,
  getAppointment,
  listAppointments,
  lockProviders,
  rejectDoubleBooking,
} from '../charts/appointments.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { EmrError } from '../errors.ts';
import { read, write } from '../http/operation.ts';
import { facilities } from '../practice/organizations.ts';
import { providers } from '../practice/providers.ts';
import { blocks, visitStatuses, visitTypes } from '../practice/scheduling.ts';
import { flag, localTime, minutes, text, usDate, utcOffset } from '../records/fields.ts';
import { createRecord, getRecord, listRecords, requireActive, updateRecord } from '../records/recordKind.ts';
import { optional, pageFields, parsePage, recordId, textUpTo, writeBody } from './schemas.ts';

const dateRange = Type.Object({ ...pageFields, from: Type.Optional(usDate), to: Type.Optional(usDate) });
const appointmentFilters = Type.Object({
  ...dateRange.properties,
  patientId: Type.Optional(text),
  providerId: Type.Optional(text),
});

export const appointmentOperations = [
  read({
    name: 'list_appointments',
    path: '/api/appointments',
    query: appointmentFilters,
    handle: ({ sql, query }) => listAppointments(sql, query, parsePage(query)),
  }),
  read({
    name: 'get_appointment',
    path: '/api/appointments/:appointmentId',
    handle: ({ sql, params }) => getAppointment(sql, params.appointmentId),
  }),
  read({
    name: 'list_blocks',
    path: '/api/blocks',
    query: dateRange,
    handle: ({ sql, query }) => listRecords(sql, blocks, parsePage(query), dateRangeFilter(sql, query)),
  }),
  write({
    name: 'create_appointment',
    path: '/api/appointments',
    body: writeBody({
      patientId: recordId,
      providerId: recordId,
      secondaryProviderId: optional(recordId),
      facilityId: recordId,
      startsAt: localTime,
      utcOffset: optional(utcOffset),
      minutes: optional(minutes),
      visitTypeCode: recordId,
      statusCode: Type.Optional(recordId),
      mode: Type.Optional(Type.Enum(['OFFICE', 'VIDEO', 'PHONE'])),
      reason: optional(text),
      complaintType: optional(text),
      note: optional(textUpTo(100_000)),
      newPatientFlag: Type.Optional(flag),
      preventDoubleBooking: Type.Optional(flag),
    }),
    patientMrn: async (sql, _params, body) => findMrn(sql, patientIdIn(body)),
    write: async ({ sql, context, session, body: { externalRef, preventDoubleBooking, ...input } }) => {
      await getRecord(sql, patients, input.patientId);
      await requireActive(sql, providers, input.providerId);
      if (input.secondaryProviderId) await requireActive(sql, providers, input.secondaryProviderId);
      if (input.secondaryProviderId === input.providerId) {
        throw new EmrError('RULE_BROKEN', 'The secondary provider must differ from the provider.');
      }
      await requireActive(sql, facilities, input.facilityId);
      const { defaultMinutes } = await getRecord(sql, visitTypes, input.visitTypeCode);
      if (input.statusCode) await getRecord(sql, visitStatuses, input.statusCode);
      const appointment = { ...input, minutes: input.minutes ?? defaultMinutes, createdBy: session.displayName };
      const providerIds = [input.providerId, input.secondaryProviderId ?? []].flat();
      await lockProviders(sql, providerIds);
      if (preventDoubleBooking === 'Y') await rejectDoubleBooking(sql, { ...appointment, providerIds });
      const booked = await createRecord(sql, appointments, appointment, context.now());
      return { record_id: booked.record_id, changes: [booked] };
    },
  }),
  write({
    name: 'update_appointment',
    path: '/api/appointments/:appointmentId',
    body: writeBody({
      statusCode: Type.Optional(recordId),
      note: optional(textUpTo(100_000)),
      providerId: Type.Optional(recordId),
      facilityId: Type.Optional(recordId),
      startsAt: Type.Optional(localTime),
      utcOffset: optional(utcOffset),
      minutes: Type.Optional(minutes),
      visitTypeCode: Type.Optional(recordId),
      preventDoubleBooking: Type.Optional(flag),
    }),
    patientMrn: async (sql, { appointmentId }) => (await getAppointment(sql, appointmentId)).mrn,
    write: async ({
      sql,
      context,
      params: { appointmentId },
      body: { externalRef, preventDoubleBooking, ...values },
    }) => {
      const before = await getRecord(sql, appointments, appointmentId, true);
      if (values.providerId) await requireActive(sql, providers, values.providerId);
      if (values.facilityId) await requireActive(sql, facilities, values.facilityId);
      if (values.visitTypeCode) await getRecord(sql, visitTypes, values.visitTypeCode);
      if (values.statusCode) await getRecord(sql, visitStatuses, values.statusCode);
      // Another time has another offset.
      const moved = values.startsAt === undefined ? {} : { utcOffset: values.utcOffset ?? null };
      const after = { ...before, ...values, ...moved };
      if (after.secondaryProviderId === after.providerId) {
        throw new EmrError('RULE_BROKEN', 'The secondary provider must differ from the provider.');
      }
      const providerIds = [after.providerId, after.secondaryProviderId ?? []].flat();
      await lockProviders(sql, providerIds);
      if (preventDoubleBooking === 'Y') await rejectDoubleBooking(sql, { ...after, providerIds });
      const changed = { ...values, ...moved };
      const change = await updateRecord(sql, appointments, appointmentId, { values: changed, at: context.now() });
      return { record_id: appointmentId, changes: [change] };
    },
  }),
];

function patientIdIn(body: unknown): string {
  return typeof body === 'object' && body !== null && 'patientId' in body ? String(body.patientId) : '';
}
