import type { FastifyInstance } from 'fastify';
import { type Appointment, appointments, getAppointment } from '../charts/appointments.ts';
import { listNotesOfVisit, type VisitNote } from '../charts/notes.ts';
import type { Context } from '../context.ts';
import { facilities } from '../practice/organizations.ts';
import { getPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { visitStatuses } from '../practice/scheduling.ts';
import { addHistory, fieldChanges } from '../records/history.ts';
import { listRecords, updateRecord } from '../records/recordKind.ts';
import { factList, type Html, html, patientLink, section } from './html.ts';
import { errorAlert, type Frame, formToken, page } from './page.ts';
import { createTimeFormat, readVisitCodes } from './readChart.ts';
import { visitNoteArticle } from './tasksAndNotes.ts';
import { checkFormToken, frameFor, requireUser, sendPage } from './user.ts';

type VisitRequest = { Params: { appointmentId: string }; Body: Record<string, string> };
type Status = { code: string; description: string };

const ALL = { page: 1, pageSize: 10_000 };

/** One visit, on which the front desk records that the patient has arrived, or that the visit is canceled. */
export function serveVisit(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<VisitRequest>('/appointments/:appointmentId', async (request, reply) => {
    const user = await requireUser(context, request);
    const visit = await readVisit(context, request.params.appointmentId);
    return sendPage(reply, visitPage(await frameFor(context, user), visit));
  });

  app.post<VisitRequest>('/appointments/:appointmentId', async (request, reply) => {
    const user = await requireUser(context, request);
    checkFormToken(user, request.body);
    const { appointmentId } = request.params;
    const visit = await readVisit(context, appointmentId);
    const statusCode = String(request.body.statusCode ?? '');
    if (!visit.statuses.some(({ code }) => code === statusCode)) {
      return sendPage(reply, visitPage(await frameFor(context, user), visit, 'Not saved. Choose a status.'), 422);
    }
    await sql.begin(async (tx) => {
      const at = context.now();
      const change = await updateRecord(tx, appointments, appointmentId, { values: { statusCode }, at });
      await addHistory(tx, user.session.displayName, at, fieldChanges([change]));
    });
    return reply.redirect(visitPath(appointmentId), 303);
  });
}

export function visitPath(appointmentId: string): string {
  return `/appointments/${encodeURIComponent(appointmentId)}`;
}

interface Visit {
  appointment: Appointment;
  provider: string;
  facility: string;
  statuses: Status[];
  notes: VisitNote[];
  visitType: (code: string) => string;
  time: (at: Date) => string;
}

async function readVisit({ sql }: Context, appointmentId: string): Promise<Visit> {
  const appointment = await getAppointment(sql, appointmentId);
  const [all_providers, all_facilities, statuses, notes, { timeZone }] = await Promise.all([
    listRecords(sql, providers, ALL),
    listRecords(sql, facilities, ALL),
    listRecords(sql, visitStatuses, ALL),
    listNotesOfVisit(sql, appointmentId),
    getPractice(sql),
  ]);
  const { providerId, facilityId } = appointment;
  return {
    appointment,
    provider: all_providers.rows.find((one) => one.providerId === providerId)?.displayName ?? providerId,
    facility: all_facilities.rows.find((one) => one.facilityId === facilityId)?.name ?? facilityId,
    statuses: statuses.rows,
    notes,
    visitType: (await readVisitCodes(sql)).visitType,
    time: createTimeFormat(timeZone),
  };
}

function visitPage(frame: Frame, visit: Visit, error?: string): Html {
  const { appointment, provider, facility, statuses, notes, time: formatTime } = visit;
  const { appointmentId, patientId, patient, startsAt, minutes, visitTypeCode, statusCode, reason, note, createdBy } =
    appointment;
  const name = `${patient.lastName}, ${patient.firstName}`;
  const [date = '', time = ''] = startsAt.split(' ');
  return page(
    frame,
    `Visit of ${name}`,
    html`<p class="crumb">${patientLink(patientId, name)}</p>
<h1>Visit on ${date}</h1>
<section class="card">
${factList([
  ['Time', `${time}, ${minutes} minutes`],
  ['Type', visit.visitType(visitTypeCode)],
  ['Provider', provider],
  ['Location', facility],
  ['Reason', reason],
  ['Note', note],
  ['Booked by', createdBy],
])}
</section>
${section(
  'Notes',
  'No notes.',
  notes.map((each) => visitNoteArticle(each, formatTime)),
)}
<section class="card narrow">
<h2>Status</h2>
${error !== undefined && errorAlert(error)}
<form method="post" action="${visitPath(appointmentId)}">
${formToken(frame.user?.form_token ?? '')}
<label for="statusCode">Status of the visit</label>
<select id="statusCode" name="statusCode">${statuses.map(
      ({ code, description }) =>
        html`<option value="${code}"${code === statusCode && html` selected`}>${description}</option>`,
    )}</select>
<div class="row"><button>Save</button><a class="button quiet" href="/schedule?date=${toIsoDate(date)}">Schedule</a></div>
</form>
</section>`,
  );
}

/** `03/08/2026` as `2026-03-08`. */
function toIsoDate(date: string): string {
  const [month, day, year] = date.split('/');
  return `${year}-${month}-${day}`;
}
