import { instantOf, openZone } from '../../platform/time/zones.ts';
import { collect } from '../implementations.ts';
import type { Saved } from '../writeInputs.ts';
import { booksFreeSlotsOnly } from './appointmentTimes.ts';
import { type Check, expectFailure } from './check.ts';
import { readPosition, requireList } from './listChecks.ts';
import { fail, skip } from './outcomes.ts';
import { prepareWrite } from './prepareWrite.ts';
import { samples } from './samples.ts';
import { testPatient } from './testRecords.ts';

/** What single writes must do, beyond the checks of all writes. */
export const singleWriteChecks: readonly Check[] = [
  // New patients are last in most lists, so this detects lists that are not read to their end.
  {
    id: 'createPatient.listed',
    expectation: 'a new patient is in the list of patients and among the changes',
    run: async (env) => {
      const { write, input, marker } = await prepareWrite(env, 'createPatient');
      const { emr } = await env.open();
      const list = requireList(emr, 'listPatients');
      const since = list.incremental && (await readPosition(list()));
      const { ehr_id } = await env.track(write.send(input, marker));
      const isIn = async (rows: AsyncIterable<{ ehr_id: string }[]>) =>
        (await collect(rows)).some((patient) => patient.ehr_id === ehr_id);
      if (!(await isIn(list()))) fail('the patient is not in the list');
      if (since !== undefined && !(await isIn(list({ since })))) fail('the patient is not among the changes');
    },
  },
  {
    id: 'createAppointment.conflict',
    expectation:
      'with prevent_double_booking, only one of several bookings of the same time succeeds; the others are slot_taken',
    run: async (env) => {
      const first = await prepareWrite(env, 'createAppointment');
      const input = { ...(await samples.createAppointment.input(env)), prevent_double_booking: true };
      const markers = Array.from({ length: 3 }, () => env.marker());
      const outcomes = await Promise.allSettled(markers.map((marker) => env.track(first.write.send(input, marker))));
      const booked = outcomes.filter(({ status }) => status === 'fulfilled').length;
      if (booked > 1) fail(`${booked} of 3 concurrent bookings succeeded`);
      if (booked === 0) await env.track(first.write.send(input, env.marker()));
      const late = () => first.write.send(input, env.marker());
      const { code, details } = await expectFailure(env, 'a booked time', late, ['refused']);
      if (code !== 'slot_taken') fail(`the failure code is ${code}, not slot_taken`);
      if (details?.conflict_type !== 'appointment') fail('conflict_type is not appointment');
    },
  },
  {
    id: 'createAppointment.default_duration',
    expectation: 'an appointment without a duration gets the length of its visit type, or the given default',
    run: async (env) => {
      const { write, marker } = await prepareWrite(env, 'createAppointment');
      if (await booksFreeSlotsOnly(env)) skip('the EMR books free slots, which have lengths of their own');
      const input = { ...(await samples.createAppointment.input(env)), minutes: null, default_minutes: 25 };
      const { ehr_id } = await env.track(write.send(input, marker));
      const { emr } = await env.open();
      const booked = (await emr.getAppointment?.(ehr_id)) ?? skip('the EMR does not show single appointments');
      const types = emr.listVisitTypes ? await env.rows('listVisitTypes') : [];
      const expected = types.find(({ code }) => code === input.visit_type)?.minutes ?? input.default_minutes;
      if (booked.minutes !== expected) fail(`the appointment has ${booked.minutes} minutes, expected ${expected}`);
    },
  },
  {
    id: 'createAppointment.repeated_hour',
    expectation: 'an appointment in the second pass of a repeated hour keeps its instant',
    run: async (env) => {
      const { timezone = 'UTC' } = await env.session();
      const starts_at = repeatedTime(timezone) ?? skip('the clocks of the time zone never go back');
      const { write, marker } = await prepareWrite(env, 'createAppointment');
      if (await booksFreeSlotsOnly(env)) skip('the EMR books free slots only, and has none then');
      const { ehr_id } = await env.track(
        write.send({ ...(await samples.createAppointment.input(env)), starts_at }, marker),
      );
      const { emr } = await env.open();
      const booked = (await emr.getAppointment?.(ehr_id)) ?? skip('the EMR does not show single appointments');
      if (instantOf(booked.starts, timezone) !== Date.parse(starts_at)) fail('the appointment is at another instant');
    },
  },
  {
    id: 'updatePatientInsurance.same_subscriber',
    expectation: 'a subscriber with the name of the present one keeps the record and the fields that were not sent',
    run: async (env) => {
      const { write } = await prepareWrite(env, 'updatePatientInsurance');
      const { insurance_ehr_id } = await samples.updatePatientInsurance.input(env);
      const person = { first_name: `Cert ${env.uniqueTag()}`, last_name: 'Subscriber' };
      const update = (more: object) =>
        env.track(
          write.send(
            { insurance_ehr_id, relationship: '02', subscriber: { ...person, ...more } },
            env.marker(),
          ) as Promise<Saved>,
        );
      const { emr } = await env.open();
      const guarantor = async () => {
        const all = (await emr.listPatientInsurances?.((await testPatient(env)).ehr_id)) ?? [];
        return all.find(({ emr_insurance_id }) => emr_insurance_id === insurance_ehr_id)?.guarantor_id;
      };
      await update({ dob: '1971-03-02', phone: '518-555-0146' });
      const before = await guarantor();
      const { changes } = await update({ phone: '518-555-0147' });
      if ((await guarantor()) !== before) fail('the subscriber became another record');
      const [change, ...others] = changes.filter(({ property }) => property.startsWith('subscriber_demographics'));
      if (others.length > 0) fail('fields that were not sent have changed');
      if (change?.before !== '518-555-0146') fail('the previous value is not reported');
    },
  },
];

/** The middle of the next repeated hour that is ten months or more ahead, in its second pass. */
function repeatedTime(timezone: string): string | undefined {
  const zone = openZone(timezone);
  const first_min = Math.floor(Date.now() / 3_600_000) * 60 + 300 * 24 * 60;
  for (let hour = 1; hour < 366 * 24; hour++) {
    const minute = first_min + hour * 60;
    if (zone.offsetAt(minute) < zone.offsetAt(minute - 60)) return zone.iso(minute + 30);
  }
  return undefined;
}
