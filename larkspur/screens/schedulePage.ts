import type { Appointment } from '../charts/appointments.ts';
import type { Block } from '../practice/blocks.ts';
import { FREE_STATUSES } from '../practice/visitStatuses.ts';
import { type Content, type Html, html } from './html.ts';
import { type Frame, page } from './page.ts';

export interface Schedule {
  /** YYYY-MM-DD, as a date field of a browser writes it. */
  date: string;
  before: string;
  after: string;
  /** The day in words. */
  day: string;
  providers: { providerId: string; displayName: string; speciality: string | null }[];
  appointments: Appointment[];
  blocks: Block[];
  statusName: (code: string) => string;
}

const ROW_MINUTES = 30;

/** A day at a glance: who is where and when. A table, so that it reads in order without a mouse, a script or colour. */
export function schedulePage(frame: Omit<Frame, 'title'>, schedule: Schedule): Html {
  const { date, before, after, day, appointments } = schedule;
  return page(
    { ...frame, title: `Schedule of ${day}`, wide: true },
    html`<h1>Schedule</h1>
<form class="search" method="get" action="/schedule">
<label for="date">Date</label>
<div class="row">
<input id="date" name="date" type="date" value="${date}" required>
<button>Show</button>
<a class="button quiet" href="/schedule?date=${before}">Day before</a>
<a class="button quiet" href="/schedule">Today</a>
<a class="button quiet" href="/schedule?date=${after}">Day after</a>
</div>
</form>
<p role="status"><strong>${day}</strong>: ${appointments.length === 1 ? '1 appointment' : `${appointments.length} appointments`}</p>
<section class="card">
<div class="scroll" tabindex="0" role="region" aria-label="Schedule">
<table class="grid">
<thead><tr><th scope="col">Time</th>${schedule.providers.map(
      (one) => html`<th scope="col">${one.displayName}<br><span class="muted">${one.speciality}</span></th>`,
    )}</tr></thead>
<tbody>${rowStarts(schedule).map((start) => gridRow(schedule, start))}</tbody>
</table>
</div>
</section>`,
  );
}

/** The usual hours, and earlier or later ones where the day has them. */
function rowStarts({ appointments, blocks }: Schedule): number[] {
  const all = [...appointments, ...blocks];
  const first = Math.min(9 * 60, ...all.map((one) => minuteOf(one.startsAt)));
  const last = Math.max(17 * 60, ...all.map((one) => minuteOf(one.startsAt) + 1));
  const start = Math.floor(first / ROW_MINUTES) * ROW_MINUTES;
  return Array.from({ length: Math.ceil((last - start) / ROW_MINUTES) }, (_, index) => start + index * ROW_MINUTES);
}

function gridRow(schedule: Schedule, start: number): Html {
  const within = ({ startsAt }: { startsAt: string }) =>
    minuteOf(startsAt) >= start && minuteOf(startsAt) < start + ROW_MINUTES;
  const cell = (providerId: string): Content[] => {
    const blocked = schedule.blocks.filter(
      (one) =>
        one.providerId === providerId &&
        minuteOf(one.startsAt) < start + ROW_MINUTES &&
        minuteOf(one.startsAt) + one.minutes > start,
    );
    const booked = schedule.appointments.filter(
      (one) => within(one) && (one.providerId === providerId || one.secondaryProviderId === providerId),
    );
    return [
      ...blocked.map((one) => blockEntry(one, within(one))),
      ...booked.map((one) => visitEntry(schedule, one, providerId)),
    ];
  };
  return html`<tr><th scope="row">${clock(start)}</th>${schedule.providers.map((one) => html`<td>${cell(one.providerId)}</td>`)}</tr>`;
}

function blockEntry({ reason, startsAt, minutes }: Block, begins: boolean): Html {
  const start = minuteOf(startsAt);
  const when = begins ? `${clock(start)} to ${clock(start + minutes)}` : 'continues';
  return html`<p class="entry block">${reason}<br><span class="muted">${when}</span></p>`;
}

function visitEntry({ statusName }: Schedule, one: Appointment, providerId: string): Html {
  const start = minuteOf(one.startsAt);
  const gone = FREE_STATUSES.includes(one.statusCode);
  return html`<p class="entry${gone && ' gone'}"><a href="/patients/${encodeURIComponent(one.patientId)}">${one.patient.lastName}, ${one.patient.firstName}</a><br>
${clock(start)} to ${clock(start + one.minutes)}, ${one.visitTypeCode}<br><span class="muted">${statusName(one.statusCode)}${one.secondaryProviderId === providerId && ', assisting'}</span></p>`;
}

function minuteOf(startsAt: string): number {
  const [hour = 0, minute = 0] = startsAt.slice(11).split(':').map(Number);
  return hour * 60 + minute;
}

function clock(minute: number): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${two(Math.floor(minute / 60) % 24)}:${two(minute % 60)}`;
}
