import type { FastifyInstance } from 'fastify';
import { betweenDays, listAppointments } from '../charts/appointments.ts';
import type { Context } from '../context.ts';
import { listRecords } from '../machine/recordKind.ts';
import { blocks } from '../practice/blocks.ts';
import { providers } from '../practice/providers.ts';
import { todayAt } from '../practice/today.ts';
import { visitStatuses } from '../practice/visitStatuses.ts';
import { type Schedule, schedulePage } from './schedulePage.ts';
import { frameFor, sendPage, visitorOf } from './visitor.ts';

const ALL = { page: 1, pageSize: 10_000 };
const DAY_MS = 86_400_000;

export function serveSchedule(app: FastifyInstance, context: Context): void {
  app.get<{ Querystring: { date?: string } }>('/schedule', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const at = dayOf(String(request.query.date ?? '')) ?? (await today(context));
    return sendPage(reply, schedulePage(await frameFor(context, visitor), await readSchedule(context, at)));
  });
}

async function readSchedule({ sql }: Context, at: Date): Promise<Schedule> {
  const iso = (days: number) => new Date(at.getTime() + days * DAY_MS).toISOString().slice(0, 10);
  const [year, month, date] = iso(0).split('-');
  const day = `${month}/${date}/${year}`;
  const filters = { from: day, to: day };
  const statuses = new Map((await listRecords(sql, visitStatuses, ALL)).rows.map((one) => [one.code, one.description]));
  return {
    date: iso(0),
    before: iso(-1),
    after: iso(1),
    day: new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', dateStyle: 'full' }).format(at),
    providers: (await listRecords(sql, providers, ALL, sql`active_flag = 'Y'`)).rows,
    appointments: (await listAppointments(sql, filters, ALL)).rows,
    blocks: (await listRecords(sql, blocks, ALL, betweenDays(sql, filters))).rows,
    statusName: (code) => statuses.get(code) ?? code,
  };
}

/** A day of the calendar, or undefined: JavaScript takes February 30th for one of March. */
function dayOf(typed: string): Date | undefined {
  const at = /^(19|20)\d\d-\d\d-\d\d$/.test(typed) ? new Date(`${typed}T00:00:00Z`) : new Date(Number.NaN);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(typed) ? at : undefined;
}

async function today({ sql, now }: Context): Promise<Date> {
  const [month, day, year] = (await todayAt(sql, now())).split('/');
  return new Date(`${year}-${month}-${day}T00:00:00Z`);
}
