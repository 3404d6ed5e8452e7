import type * as fhir from 'fhir/r4.js';
import { dayFrom, pickReference, type SeedContext, times } from './sizes.ts';

/** A schedule for each doctor with slots for the next days, and appointments before and after today. */
export function makeSchedules(seed: SeedContext): fhir.FhirResource[] {
  const { size } = seed;
  return [
    ...times(size.doctors, (index) => makeDoctorSchedule(seed, index + 1)).flat(),
    ...times(size.appointments, (index) => makeAppointment(seed, index)),
    {
      resourceType: 'Appointment',
      id: 'appt-bare',
      status: 'proposed',
      participant: [{ type: [{ text: 'Anybody' }], status: 'needs-action' }],
    },
  ];
}

const half_hours = 14;

function makeDoctorSchedule(seed: SeedContext, doctor: number): fhir.FhirResource[] {
  const { size, chance } = seed;
  const schedule: fhir.Schedule = {
    resourceType: 'Schedule',
    id: `sched-${doctor}`,
    active: true,
    actor: [{ reference: `Practitioner/prac-${doctor}` }, { reference: `Location/loc-${1 + ((doctor - 1) % 2)}` }],
  };
  const slots = times(size.slot_days * half_hours, (index): fhir.Slot => {
    const [start, end] = halfHour(dayFrom(seed, 1 + Math.floor(index / half_hours)), index % half_hours);
    return {
      resourceType: 'Slot',
      id: `slot-${doctor}-${index + 1}`,
      schedule: { reference: `Schedule/sched-${doctor}` },
      status: chance.pick(['free', 'free', 'free', 'busy', 'busy-unavailable']),
      start,
      end,
    };
  });
  return [schedule, ...slots];
}

/** Instants with offset: the practice is five hours behind. */
function halfHour(day: string, index: number): [string, string] {
  const at = (minutes: number) =>
    `${day}T${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}:00-05:00`;
  return [at(9 * 60 + index * 30), at(9 * 60 + index * 30 + 30)];
}

function makeAppointment(seed: SeedContext, index: number): fhir.Appointment {
  const { chance, size } = seed;
  const days = chance.below(60) - 30;
  const [start, end] = halfHour(dayFrom(seed, days), chance.below(half_hours));
  const status = days < 0 ? chance.pick(['fulfilled', 'fulfilled', 'noshow'] as const) : 'booked';
  const actors = [
    `Patient/${pickReference(seed, 'pat', size.patients)}`,
    `Practitioner/${pickReference(seed, 'prac', size.doctors)}`,
    'Location/loc-1',
  ];
  return {
    resourceType: 'Appointment',
    id: `appt-${index + 1}`,
    status: index % 15 === 7 ? 'cancelled' : status,
    appointmentType: { coding: [chance.pick([followUp, checkup, walkIn])] },
    description: 'Synthetic visit',
    start,
    end,
    minutesDuration: 30,
    participant: actors.map((reference) => ({ actor: { reference }, status: 'accepted' })),
  };
}

const system = 'http://terminology.hl7.org/CodeSystem/v2-0276';
const followUp = { system, code: 'FOLLOWUP', display: 'A follow up visit from a previous appointment' };
const checkup = { system, code: 'CHECKUP', display: 'A routine check-up, such as an annual physical' };
const walkIn = { system, code: 'WALKIN', display: 'A previously unscheduled walk-in visit' };
