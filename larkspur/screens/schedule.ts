import type { FastifyInstance } from 'fastify';
import { type Appointment, dateRangeFilter, listAppointments } from '../charts/appointments.ts';
import type { Context } from '../context.ts';
import { todayAtPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { type Block, blocks, FREE_STATUSES, visitStatuses } from '../practice/scheduling.ts';
import { listRecords } from '../records/recordKind.ts';
import { listNewAnchors } from './apiEntries.ts';
import { type Content, type Html, html, newMark, patientLink } from './html.ts';
import { type Frame, page } from './page.ts';
import { frameFor, requireUser, sendPage } from './user.ts';
import { visitPath } from './visit.ts';

const ALL = { page: 1, pageSize: 10_000 };
const DAY_MS = 86_400_000;
const ROW_MINUTES = 30;

export function serveSchedule(app: FastifyInstance, context: Context): void {
  app.get<{ Querystring: { date?: string } }>('/schedule', async (request, reply) => {
    const user = await requireUser(context, request);
    const day = parseDate(String(request.query.date ?? '')) ?? (await today(context));
    return sendPage(reply, schedulePage(await frameFor(context, user), await readSchedule(context, day)));
  });
}

/** Returns undefined for invalid dates. `Date` alone would convert February 30 to a day in March. */
function parseDate(text: string): Date | undefined {
  const date = /^(19|20)\d\d-\d\d-\d\d$/.test(text) ? new Date(`${text}T00:00:00Z`) : new Date(Number.NaN);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? date : undefined;
}

async function today({ sql, now }: Context): Promise<Date> {
  const [month, day, year] = (await todayAtPractice(sql, now())).split('/');
  return new Date(`${year}-${month}-${day}T00:00:00Z`);
}

interface Schedule {
  /** YYYY-MM-DD, as are `previous` and `next`. */
  date: string;
  previous: string;
  next: string;
  /** The full date, with weekday. */
  title: string;
  providers: { providerId: string; displayName: string; speciality: string | null }[];
  appointments: Appointment[];
  blocks: Block[];
  statusName: (code: string) => string;
  /** What was written through the API within the last day. */
  newAnchors: ReadonlySet<string>;
}

async function readSchedule({ sql, now }: Context, day: Date): Promise<Schedule> {
  const iso = (days: number) => new Date(day.getTime() + days * DAY_MS).toISOString().slice(0, 10);
  const [year, month, date] = iso(0).split('-');
  const usDate = `${month}/${date}/${year}`;
  const filters = { from: usDate, to: usDate };
  const statuses = new Map((await listRecords(sql, visitStatuses, ALL)).rows.map((row) => [row.code, row.description]));
  return {
    date: iso(0),
    previous: iso(-1),
    next: iso(1),
    title: new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', dateStyle: 'full' }).format(day),
    providers: (await listRecords(sql, providers, ALL, sql`active_flag = 'Y'`)).rows,
    appointments: (await listAppointments(sql, filters, ALL)).rows,
    blocks: (await listRecords(sql, blocks, ALL, dateRangeFilter(sql, filters))).rows,
    newAnchors: await listNewAnchors(sql, now()),
    statusName: (code) => statuses.get(code) ?? code,
  };
}

/** The schedule is a table, so that it works with screen readers and without scripts. */
function schedulePage(frame: Frame, schedule: Schedule): Html {
  const { date, previous, next, title, appointments } = schedule;
  return page(
    { ...frame, wide: true },
    `Schedule for ${title}`,
    html`<h1>Schedule</h1>
<form class="search" method="get" action="/schedule">
<label for="date">Date</label>
<div class="row">
<input id="date" name="date" type="date" value="${date}" required>
<button>Show</button>
<a class="button quiet" href="/schedule?date=${previous}">Previous day</a>
<a class="button quiet" href="/schedule">Today</a>
<a class="button quiet" href="/schedule?date=${next}">Next day</a>
</div>
</form>
<p role="status"><strong>${title}</strong>: ${appointments.length === 1 ? '1 appointment' : `${appointments.length} appointments`}</p>
<section class="card">
<div class="scroll" tabindex="0" role="region" aria-label="Schedule">
<table class="grid">
<thead><tr><th scope="col">Time</th>${schedule.providers.map(
      ({ displayName, speciality }) =>
        html`<th scope="col">${displayName}<br><span class="muted">${speciality}</span></th>`,
    )}</tr></thead>
<tbody>${rowStarts(schedule).map((start) => gridRow(schedule, start))}</tbody>
</table>
</div>
</section>`,
  );
}

/** 09:00 to 17:00, extended if there are earlier or later entries. */
function rowStarts({ appointments, blocks }: Schedule): number[] {
  const starts = [...appointments, ...blocks].map(({ startsAt }) => parseMinute(startsAt));
  const first = Math.min(9 * 60, ...starts);
  const last = Math.max(17 * 60, ...starts.map((minute) => minute + 1));
  const start = Math.floor(first / ROW_MINUTES) * ROW_MINUTES;
  return Array.from({ length: Math.ceil((last - start) / ROW_MINUTES) }, (_, index) => start + index * ROW_MINUTES);
}

function gridRow(schedule: Schedule, start: number): Html {
  const startsInRow = ({ startsAt }: { startsAt: string }) =>
    parseMinute(startsAt) >= start && parseMinute(startsAt) < start + ROW_MINUTES;
  const cell = (providerId: string): Content[] => {
    const blocked = schedule.blocks.filter(
      (one) =>
        one.providerId === providerId &&
        parseMinute(one.startsAt) < start + ROW_MINUTES &&
        parseMinute(one.startsAt) + one.minutes > start,
    );
    const booked = schedule.appointments.filter(
      (one) => startsInRow(one) && (one.providerId === providerId || one.secondaryProviderId === providerId),
    );
    return [
      ...blocked.map((one) => blockEntry(one, startsInRow(one))),
      ...booked.map((one) => appointmentEntry(schedule, one, providerId)),
    ];
  };
  return html`<tr><th scope="row">${formatTime(start)}</th>${schedule.providers.map((one) => html`<td>${cell(one.providerId)}</td>`)}</tr>`;
}

function blockEntry({ reason, startsAt, minutes }: Block, isFirstRow: boolean): Html {
  const start = parseMinute(startsAt);
  const when = isFirstRow ? `${formatTime(start)} to ${formatTime(start + minutes)}` : 'continued';
  return html`<p class="entry block">${reason}<br><span class="muted">${when}</span></p>`;
}

function appointmentEntry({ statusName, newAnchors }: Schedule, appointment: Appointment, providerId: string): Html {
  const { patient } = appointment;
  const start = parseMinute(appointment.startsAt);
  const inactive = FREE_STATUSES.includes(appointment.statusCode);
  const id = `appointment-${appointment.appointmentId}`;
  const assists = appointment.providerId !== providerId;
  return html`<p class="entry${inactive && ' inactive'}"${!assists && html` id="${id}"`}>${patientLink(appointment.patientId, `${patient.lastName}, ${patient.firstName}`)}<br>
<a href="${visitPath(appointment.appointmentId)}">${formatTime(start)} ${appointment.visitTypeCode}</a>, ${appointment.minutes}&nbsp;min<br><span class="muted">${statusName(appointment.statusCode)}${assists && ', assisting'}</span>${newMark(newAnchors.has(id))}</p>`;
}

function parseMinute(startsAt: string): number {
  const [hour = 0, minute = 0] = startsAt.slice(11).split(':').map(Number);
  return hour * 60 + minute;
}

function formatTime(minute: number): string {
  const twoDigits = (number: number) => String(number).padStart(2, '0');
  return `${twoDigits(Math.floor(minute / 60) % 24)}:${twoDigits(minute % 60)}`;
}
