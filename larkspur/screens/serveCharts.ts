import type { FastifyInstance } from 'fastify';
import { listMedications } from '../charts/medications.ts';
import { listPatientPharmacies } from '../charts/patientPharmacies.ts';
import { patientSearch, patients } from '../charts/patients.ts';
import { listTelephoneEncounters } from '../charts/telephoneEncounters.ts';
import { getWholePatient } from '../charts/wholePatient.ts';
import type { Context } from '../context.ts';
import { addHistory, fieldChanges, listHistory } from '../machine/history.ts';
import { changeRecord, getRecord, listRecords } from '../machine/recordKind.ts';
import { facilities } from '../practice/facilities.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { getPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { staff } from '../practice/staff.ts';
import { type Chart, chartPage } from './chartPage.ts';
import { contactForm, readContactForm } from './contactForm.ts';
import { editPage } from './editPage.ts';
import { patientsPage } from './patientsPage.ts';
import { checkForm, frameFor, sendPage, visitorOf } from './visitor.ts';

const PAGE_SIZE = 25;
const HISTORY_ROWS = 200;
/** More than any practice has: all names at once. */
const ALL = { page: 1, pageSize: 10_000 };

type OfPatient = { Params: { patientId: string }; Body: Record<string, string> };

export function serveCharts(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<{ Querystring: { q?: string; page?: string } }>('/patients', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const words = String(request.query.q ?? '').slice(0, 100);
    const number = Math.min(Math.max(1, Math.trunc(Number(request.query.page)) || 1), 100_000);
    const list = await listRecords(sql, patients, { page: number, pageSize: PAGE_SIZE }, patientSearch(sql, words));
    return sendPage(reply, patientsPage(await frameFor(context, visitor), { words, ...list }));
  });

  app.get<OfPatient>('/patients/:patientId', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const chart = await readChart(context, request.params.patientId);
    return sendPage(reply, chartPage(await frameFor(context, visitor), chart));
  });

  app.get<OfPatient>('/patients/:patientId/edit', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const patient = await getRecord(sql, patients, request.params.patientId);
    return sendPage(reply, editPage(await frameFor(context, visitor), patient, contactForm(patient)));
  });

  app.post<OfPatient>('/patients/:patientId/edit', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    checkForm(visitor, request.body);
    const { patientId } = request.params;
    const { form, errors, values } = readContactForm(request.body);
    if (Object.keys(errors).length > 0) {
      const patient = await getRecord(sql, patients, patientId);
      return sendPage(reply, editPage(await frameFor(context, visitor), patient, form, errors), 422);
    }
    await sql.begin(async (tx) => {
      const at = context.now();
      const change = await changeRecord(tx, patients, patientId, values, at);
      await addHistory(tx, visitor.session.displayName, at, fieldChanges([change]));
    });
    return reply.redirect(`/patients/${encodeURIComponent(patientId)}`, 303);
  });
}

async function readChart({ sql }: Context, patientId: string): Promise<Chart> {
  const names = {
    provider: new Map((await listRecords(sql, providers, ALL)).rows.map((one) => [one.providerId, one.displayName])),
    staff: new Map((await listRecords(sql, staff, ALL)).rows.map((one) => [one.staffId, one.displayName])),
    facility: new Map((await listRecords(sql, facilities, ALL)).rows.map((one) => [one.facilityId, one.name])),
    pharmacy: new Map((await listRecords(sql, pharmacies, ALL)).rows.map((one) => [one.pharmacyId, one.name])),
  };
  const { timeZone } = await getPractice(sql);
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  });
  return {
    patient: await getWholePatient(sql, patientId),
    medications: await listMedications(sql, patientId),
    pharmacies: await listPatientPharmacies(sql, patientId),
    encounters: await listTelephoneEncounters(sql, patientId),
    history: await listHistory(sql, patientId, HISTORY_ROWS),
    name: (kind, id) => names[kind].get(id) ?? `${id} (removed)`,
    time: (at) => clock.format(at),
  };
}
