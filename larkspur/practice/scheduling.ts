import { Type } from 'typebox';
import { id, idOrNull, localTime, minutes, text } from '../records/fields.ts';
import { type RowOf, recordKind } from '../records/recordKind.ts';

export const visitTypes = recordKind(
  { table: 'visit_types', record: 'visit type', id: 'code' },
  Type.Object({ code: id, description: text, defaultMinutes: minutes }),
  { description: '', defaultMinutes: 20 },
);

export const visitStatuses = recordKind(
  { table: 'visit_statuses', record: 'visit status', id: 'code' },
  Type.Object({ code: id, description: text }),
  { description: '' },
);

/** Canceled, no-show, rescheduled: appointments with these statuses do not occupy their time. */
export const FREE_STATUSES = ['CAN', 'NOS', 'RSC'];

/** A period in which a provider takes no appointments. */
export const blocks = recordKind(
  { table: 'blocks', record: 'block', id: 'blockId' },
  Type.Object({ blockId: id, providerId: id, facilityId: idOrNull, startsAt: localTime, minutes, reason: text }),
  { minutes: 30, reason: 'Blocked' },
);

export type Block = RowOf<typeof blocks>;
