import { type Static, Type } from 'typebox';
import type { RecordKind } from '../machine/recordKind.ts';
import { id, idOrNull, minutes, text, wallTime } from './fields.ts';

const row = Type.Object({
  blockId: id,
  providerId: id,
  facilityId: idOrNull,
  startsAt: wallTime,
  minutes,
  reason: text,
});

export type Block = Static<typeof row>;

/** A stretch of a provider's day that is not for appointments. */
export const blocks: RecordKind<typeof row> = {
  table: 'blocks',
  record: 'block',
  id: 'blockId',
  row,
  blank: { minutes: 30, reason: 'Blocked' },
};
