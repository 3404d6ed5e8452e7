import { type Static, Type } from 'typebox';
import type { Query } from '../database/open.ts';
import type { RecordKind } from '../machine/recordKind.ts';
import { flag, id, text, textOrNull, usDate } from './fields.ts';

export type WeeklyHours = Static<typeof weeklyHours>;

const time = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });

const shift = Type.Object({
  startTime: time,
  endTime: time,
  facilityId: id,
  effectiveFrom: usDate,
  effectiveTo: Type.Union([usDate, Type.Null()]),
  description: textOrNull,
  recurrence: Type.Union([
    Type.Null(),
    Type.Object({
      startDate: usDate,
      intervalType: Type.Literal('weeks'),
      intervalAmount: Type.Integer({ minimum: 1 }),
      description: textOrNull,
    }),
  ]),
  visitRules: Type.Array(
    Type.Object({
      startTime: time,
      endTime: time,
      visits: Type.Integer({ minimum: 0 }),
      visitTypeCode: text,
      visitTypeName: text,
    }),
  ),
});

const dayName = Type.Enum(['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']);

const weeklyHours = Type.Array(Type.Object({ dayName, shifts: Type.Array(shift) }));

const row = Type.Object({
  providerId: id,
  firstName: text,
  lastName: text,
  displayName: text,
  npi: textOrNull,
  speciality: textOrNull,
  timeZone: text,
  activeFlag: flag,
  weeklyHours,
});

export const providers: RecordKind<typeof row> = {
  table: 'providers',
  record: 'provider',
  id: 'providerId',
  row,
  blank: {
    firstName: '',
    lastName: '',
    displayName: '',
    timeZone: 'America/New_York',
    activeFlag: 'Y',
    weeklyHours: [],
  },
};

export async function findProvider(
  sql: Query,
  providerId: string,
): Promise<{ id: string; firstName: string; lastName: string } | undefined> {
  const [provider] = await sql<{ id: string; firstName: string; lastName: string }[]>`
    select provider_id as id, first_name, last_name from providers
    where provider_id = ${providerId} and active_flag = 'Y'`;
  return provider;
}
