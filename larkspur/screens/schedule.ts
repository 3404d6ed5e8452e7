import type { FastifyInstance } from 'fastify';
import { type Appointment, dateRangeFilter, listAppointments } from '../charts/appointments.ts';
import type { Context } from '../context.ts';
import { getPractice, todayAtPractice } from '../practice/practice.ts';
import { providers } from '../practice/providers.ts';
import { type Block, blocks, FREE_STATUSES } from '../practice/scheduling.ts';
import { listRecords } from '../records/recordKind.ts';
import { listNewAnchors } from './apiEntries.ts';
import { type Html, html, newMark } from './html.ts';
import { type Frame, page } from './page.ts';
import { readVisitCodes } from './readChart.ts';
import { frameFor, requireUser, sendPage } from './user.ts';
import { visitPath } from './visit.ts';

const ALL = { page: 1, pageSize: 10_000 };
const DAY_MS = 86_400_000;

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

type ShownProvider = { providerId: string; displayName: string; speciality: string | null };

interface Schedule {
  /** YYYY-MM-DD, as are `previous` and `next`. */
  date: string;
  previous: string;
  next: string;
  /** The full date, with weekday. */
  title: string;
  providers: ShownProvider[];
  appointments: Appointment[];
  blocks: Block[];
  visitType: (code: string) => string;
  visitStatus: (code: string) => string;
  /** The present minute of the day; undefined on other days. */
  minute_now: number | undefined;
  /** What was written through the API within the last day. */
  newAnchors: ReadonlySet<string>;
}

async function readSchedule({ sql, now }: Context, day: Date): Promise<Schedule> {
  const iso = (days: number) => new Date(day.getTime() + days * DAY_MS).toISOString().slice(0, 10);
  const [year, month, date] = iso(0).split('-');
  const usDate = `${month}/${date}/${year}`;
  const filters = { from: usDate, to: usDate };
  const { timeZone } = await getPractice(sql);
  return {
    date: iso(0),
    previous: iso(-1),
    next: iso(1),
    title: new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', dateStyle: 'full' }).format(day),
    providers: (await listRecords(sql, providers, ALL, sql`active_flag = 'Y'`)).rows,
    appointments: (await listAppointments(sql, filters, ALL)).rows,
    blocks: (await listRecords(sql, blocks, ALL, dateRangeFilter(sql, filters))).rows,
    newAnchors: await listNewAnchors(sql, now()),
    ...(await readVisitCodes(sql)),
    minute_now: (await todayAtPractice(sql, now())) === usDate ? minuteOfDay(now(), timeZone) : undefined,
  };
}

function minuteOfDay(at: Date, timeZone: string): number {
  const time = new Intl.DateTimeFormat('en-US', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const [hour = 0, minute = 0] = time.format(at).split(':').map(Number);
  return hour * 60 + minute;
}

/** One column per provider, in which entries are as high as they are long. Lists, so that it works with screen readers. */
function schedulePage(frame: Frame, schedule: Schedule): Html {
  const { date, previous, next, title, appointments, providers } = schedule;
  const hours = shownHours(schedule);
  const labels = Array.from({ length: hours.to - hours.from }, (_, index) => hours.from + index);
  return page(
    { ...frame, wide: true },
    `Schedule for ${title}`,
    html`<form class="search day-bar" method="get" action="/schedule">
<h1>Schedule</h1>
<p role="status"><strong>${title}</strong>: ${appointments.length === 1 ? '1 appointment' : `${appointments.length} appointments`}</p>
<div class="row">
<a class="button quiet" href="/schedule?date=${previous}">Previous day</a>
<a class="button quiet" href="/schedule">Today</a>
<a class="button quiet" href="/schedule?date=${next}">Next day</a>
<label for="date">Date</label>
<input id="date" name="date" type="date" value="${date}" required>
<button>Show</button>
</div>
</form>
<div class="day" tabindex="0" role="region" aria-label="Schedule">
<div class="hours" aria-hidden="true"><div class="column-head"></div><div class="slots hours-${hours.to - hours.from}">${labels.map((hour) => html`<span class="at-${(hour - hours.from) * STEPS_PER_HOUR}">${formatTime(hour * 60)}</span>`)}</div></div>
${providers.map((provider) => providerColumn(schedule, provider, hours))}
</div>`,
  );
}

/** The height of an entry is a multiple of this. The stylesheet has a class for each position, as styles are not inline. */
const STEP_MINUTES = 5;
const STEPS_PER_HOUR = 60 / STEP_MINUTES;

interface Hours {
  from: number;
  to: number;
}

/** 8:00 to 17:00, extended if there are earlier or later entries, in full hours. */
function shownHours({ appointments, blocks }: Schedule): Hours {
  const entries = [...appointments, ...blocks];
  const starts = entries.map(({ startsAt }) => parseMinute(startsAt));
  const ends = entries.map((each) => parseMinute(each.startsAt) + each.minutes);
  return {
    from: Math.floor(Math.min(8 * 60, ...starts) / 60),
    to: Math.min(24, Math.ceil(Math.max(17 * 60, ...ends) / 60)),
  };
}

/** An entry of a column. Entries that overlap share its width. */
interface Entry {
  start: number;
  end: number;
  content: (position: string) => Html;
}

function providerColumn(
  schedule: Schedule,
  { providerId, displayName, speciality }: ShownProvider,
  hours: Hours,
): Html {
  const booked = schedule.appointments
    .filter((one) => one.providerId === providerId || one.secondaryProviderId === providerId)
    .map((one) => toEntry(one, (position) => appointmentEntry(schedule, one, providerId, position)));
  const blocked = schedule.blocks
    .filter((one) => one.providerId === providerId)
    .map((one) => toEntry(one, (position) => blockEntry(one, position)));
  const entries = [...booked, ...blocked].sort((a, b) => a.start - b.start || b.end - a.end);
  const now = schedule.minute_now;
  const shows_now = now !== undefined && now >= hours.from * 60 && now < hours.to * 60;
  return html`<section class="column" aria-labelledby="provider-${providerId}">
<h2 class="column-head" id="provider-${providerId}">${displayName} <span class="muted">${speciality}</span></h2>
<ul class="slots hours-${hours.to - hours.from}">
${placeEntries(entries).map(({ entry, lanes: [first, last], count }) =>
  entry.content(`${position(entry, hours)} lanes-${first}-to-${last}-of-${count}`),
)}
${shows_now && html`<li class="now at-${toStep(now - hours.from * 60)}" aria-hidden="true"></li>`}
</ul>
</section>`;
}

function toEntry(one: { startsAt: string; minutes: number }, content: Entry['content']): Entry {
  const start = parseMinute(one.startsAt);
  return { start, end: start + one.minutes, content };
}

/** The classes that place an entry. One that lasts beyond the shown day ends with it. */
function position({ start, end }: Entry, { from, to }: Hours): string {
  const first = toStep(start - from * 60);
  const steps = Math.ceil((Math.min(end, to * 60) - from * 60) / STEP_MINUTES) - first;
  return `at-${first} for-${Math.max(1, steps)}`;
}

function toStep(minutes: number): number {
  return Math.floor(minutes / STEP_MINUTES);
}

const LANES_MAX = 4;

interface PositionedEntry {
  entry: Entry;
  /** The first and the last of its column's lanes that it fills, from 1. */
  lanes: [first: number, last: number];
  count: number;
}

/** Entries that overlap, directly or through others, are next to each other. Each is as wide as its neighbors allow. */
function placeEntries(entries: Entry[]): PositionedEntry[] {
  const positioned: PositionedEntry[] = [];
  let group: { entry: Entry; lane: number }[] = [];
  let group_end = 0;
  const close = () => {
    const count = Math.max(1, ...group.map(({ lane }) => lane));
    for (const { entry, lane } of group) {
      const next = group.filter((each) => each.lane > lane && overlap(each.entry, entry)).map((each) => each.lane);
      positioned.push({ entry, lanes: [lane, Math.min(count + 1, ...next) - 1], count });
    }
    group = [];
  };
  for (const entry of entries) {
    if (entry.start >= group_end) close();
    const taken = new Set(group.filter((each) => overlap(each.entry, entry)).map(({ lane }) => lane));
    const free = Array.from({ length: LANES_MAX }, (_, index) => index + 1).find((lane) => !taken.has(lane));
    group.push({ entry, lane: free ?? LANES_MAX });
    group_end = Math.max(group_end, entry.end);
  }
  close();
  return positioned;
}

function overlap(one: Entry, other: Entry): boolean {
  return one.start < other.end && other.start < one.end;
}

function blockEntry({ reason, startsAt, minutes }: Block, position: string): Html {
  const start = parseMinute(startsAt);
  return html`<li class="entry block ${position}">${reason} <span class="muted">${formatTime(start)} to ${formatTime(start + minutes)}</span></li>`;
}

function appointmentEntry(schedule: Schedule, appointment: Appointment, providerId: string, position: string): Html {
  const { appointmentId, patient, minutes, visitTypeCode, statusCode } = appointment;
  const { newAnchors, visitType, visitStatus } = schedule;
  const inactive = FREE_STATUSES.includes(statusCode);
  const id = `appointment-${appointmentId}`;
  const assists = appointment.providerId !== providerId;
  const details = `${visitType(visitTypeCode)}, ${minutes} min, ${visitStatus(statusCode)}${assists ? ', assisting' : ''}`;
  return html`<li class="entry status-${statusCode} ${position}${inactive && ' inactive'}"${!assists && html` id="${id}"`}>
<a href="${visitPath(appointmentId)}" title="${details}"><span class="time">${formatTime(parseMinute(appointment.startsAt))}</span> ${patient.lastName}, ${patient.firstName}</a>${newMark(newAnchors.has(id))}
<span class="muted">${details}</span></li>`;
}

function parseMinute(startsAt: string): number {
  const [hour = 0, minute = 0] = startsAt.slice(11).split(':').map(Number);
  return hour * 60 + minute;
}

function formatTime(minute: number): string {
  const twoDigits = (number: number) => String(number).padStart(2, '0');
  return `${twoDigits(Math.floor(minute / 60) % 24)}:${twoDigits(minute % 60)}`;
}
