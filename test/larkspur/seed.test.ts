import { expect, test } from 'vitest';
import { BILLED_VISITS, claimRows } from '../../larkspur/seed/claims.ts';
import { companyRows } from '../../larkspur/seed/companies.ts';
import { coverageRows } from '../../larkspur/seed/coverage.ts';
import { daysBetween } from '../../larkspur/seed/days.ts';
import { orderRows } from '../../larkspur/seed/orders.ts';
import { patientRows, type SeededPatient } from '../../larkspur/seed/patients.ts';
import { providerRows } from '../../larkspur/seed/providers.ts';
import { seededChance } from '../../larkspur/seed/random.ts';
import { scheduleRows } from '../../larkspur/seed/schedule.ts';

// The schedule depends on the weekday.
const days = ['2026-03-10T15:00:00Z', '2026-11-15T04:59:00Z', '2028-02-29T00:01:00Z'];
const seeds = new Map<string, ReturnType<typeof createSeed>>();

function seed(day: string) {
  const present = seeds.get(day) ?? createSeed(day);
  seeds.set(day, present);
  return present;
}

function createSeed(day: string) {
  const now = new Date(day);
  const patients: SeededPatient[] = patientRows(seededChance(1), now);
  const companies = companyRows(now);
  const { insurances } = coverageRows(seededChance(2), now, patients, companies);
  const schedule = scheduleRows(now, patients, BILLED_VISITS);
  const sources = { visits: schedule.seen, patients, companies, insurances, providers: providerRows(now) };
  return {
    patients: new Map(patients.map((patient) => [patient.patientId, patient])),
    appointments: new Map(schedule.appointments.map((each) => [each.appointmentId, each])),
    claims: claimRows(seededChance(3), now, sources),
    orders: orderRows(seededChance(4), now, schedule.seen, patients[0]?.patientId),
  };
}

test.each(days)('every claim and order is for a visit of the same patient, provider and day (%s)', (day) => {
  const { appointments, claims, orders } = seed(day);
  expect(claims).toHaveLength(2000);
  expect(orders).toHaveLength(240);
  const records = [
    ...claims.map((claim) => ({ ...claim, on: claim.serviceDate })),
    ...orders.map((order) => ({ ...order, on: order.orderDate })),
  ];
  for (const { appointmentId, patientId, providerId, on } of records) {
    const visit = appointments.get(appointmentId);
    expect(visit).toMatchObject({ patientId, providerId, statusCode: 'CHK' });
    expect(visit?.startsAt.slice(0, 10)).toBe(on);
  }
});

test.each(days)('every void claim names its successor, which is for the same visit (%s)', (day) => {
  const { claims } = seed(day);
  const by_id = new Map(claims.map((claim) => [claim.claimId, claim]));
  expect(by_id.size).toBe(claims.length);
  const voided = claims.filter(({ voidFlag }) => voidFlag === 'Y');
  expect(voided).toHaveLength(40);
  for (const { claimId, appointmentId, voidClaim } of voided) {
    const successor = by_id.get(voidClaim.voidToClaimId ?? '');
    expect(successor).toMatchObject({
      appointmentId,
      voidFlag: 'N',
      voidClaim: { voidFromClaimId: claimId, voidToClaimId: null },
    });
  }
  expect(claims.filter(({ voidClaim }) => voidClaim.voidFromClaimId !== null)).toHaveLength(voided.length);
});

test.each(days)('nobody has an appointment before birth (%s)', (day) => {
  const { appointments, patients } = seed(day);
  for (const { patientId, startsAt } of appointments.values()) {
    expect(daysBetween(patients.get(patientId)?.birthDate ?? '', startsAt)).toBeGreaterThan(0);
  }
});
