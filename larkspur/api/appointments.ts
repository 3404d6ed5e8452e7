import { Type } from 'typebox';
import { appointments, betweenDays, getAppointment, listAppointments } from '../charts/appointments.ts';
import { lockProviders, refuseDoubleBooking } from '../charts/bookAppointment.ts';
import { findMrn, patients } from '../charts/patients.ts';
import { EmrError } from '../errors.ts';
import { read, write } from '../machine/operation.ts';
import { createRecord, getRecord, listRecords } from '../machine/recordKind.ts';
import { blocks } from '../practice/blocks.ts';
import { facilities } from '../practice/facilities.ts';
import { flag, minutes, text, usDate, wallTime } from '../practice/fields.ts';
import { getActive } from '../practice/getActive.ts';
import { providers } from '../practice/providers.ts';
import { visitStatuses } from '../practice/visitStatuses.ts';
import { visitTypes } from '../practice/visitTypes.ts';
import { pageOf, paging } from './paging.ts';
import { atMost, optional, recordId, writeBody } from './writeBody.ts';

const days = Type.Object({ ...paging, from: Type.Optional(usDate), to: Type.Optional(usDate) });

export const appointmentOperations = [
  read({
    name: 'list_appointments',
    method: 'GET',
    path: '/api/appointments',
    search: days,
    handle: ({ sql, search }) => listAppointments(sql, search, pageOf(search)),
  }),
  read({
    name: 'get_appointment',
    method: 'GET',
    path: '/api/appointments/:appointmentId',
    handle: ({ sql, params }) => getAppointment(sql, params.appointmentId),
  }),
  read({
    name: 'list_blocks',
    method: 'GET',
    path: '/api/blocks',
    search: days,
    handle: ({ sql, search }) => listRecords(sql, blocks, pageOf(search), betweenDays(sql, search)),
  }),
  write({
    name: 'create_appointment',
    path: '/api/appointments',
    body: writeBody({
      patientId: recordId,
      providerId: recordId,
      secondaryProviderId: optional(recordId),
      facilityId: recordId,
      startsAt: wallTime,
      minutes: optional(minutes),
      visitTypeCode: recordId,
      statusCode: Type.Optional(recordId),
      mode: Type.Optional(Type.Enum(['OFFICE', 'VIDEO', 'PHONE'])),
      reason: optional(text),
      complaintType: optional(text),
      note: optional(atMost(100_000)),
      newPatientFlag: Type.Optional(flag),
      preventDoubleBooking: Type.Optional(flag),
    }),
    patientMrn: async (sql, _params, body) => findMrn(sql, patientIdIn(body)),
    write: async ({ sql, context, body: { externalRef, preventDoubleBooking, ...words } }) => {
      await getRecord(sql, patients, words.patientId);
      await getActive(sql, providers, words.providerId);
      if (words.secondaryProviderId) await getActive(sql, providers, words.secondaryProviderId);
      if (words.secondaryProviderId === words.providerId) {
        throw new EmrError('REFUSED', 'The secondary provider must be another than the provider.');
      }
      await getActive(sql, facilities, words.facilityId);
      const { defaultMinutes } = await getRecord(sql, visitTypes, words.visitTypeCode);
      if (words.statusCode) await getRecord(sql, visitStatuses, words.statusCode);
      const appointment = { ...words, minutes: words.minutes ?? defaultMinutes };
      const providerIds = [words.providerId, words.secondaryProviderId ?? []].flat();
      await lockProviders(sql, providerIds);
      if (preventDoubleBooking === 'Y') await refuseDoubleBooking(sql, { ...appointment, providerIds });
      const booked = await createRecord(sql, appointments, appointment, context.now());
      return { record_id: booked.record_id, changes: [booked] };
    },
  }),
];

function patientIdIn(body: unknown): string {
  return typeof body === 'object' && body !== null && 'patientId' in body ? String(body.patientId) : '';
}
