import { createHmac, timingSafeEqual } from 'node:crypto';
import { apiError } from '../../catalog/errors.ts';
import type { SystemKeys } from './masterKeys.ts';

/** What a cursor belongs to: the list, whose records it has, and its filters. It is valid nowhere else. */
export type CursorPlace = readonly (string | Readonly<Record<string, unknown>>)[];

type Keys = Pick<SystemKeys, 'key'>;

/**
 * A position in a list as clients get it: opaque, and authenticated together with the place. Filters are part of the
 * place and not of the cursor, because they can name a patient.
 */
export function formatCursor(keys: Keys, place: CursorPlace, position: string): string {
  const bytes = Buffer.from(position, 'utf8');
  return Buffer.concat([sign(keys, place, bytes), bytes]).toString('base64url');
}

/** The position of a cursor; undefined if it was not issued for this place. */
export function parseCursor(keys: Keys, place: CursorPlace, cursor: string): string | undefined {
  const bytes = Buffer.from(cursor, 'base64url');
  // Node ignores characters that are not base64url.
  if (bytes.length <= signature_bytes || bytes.toString('base64url') !== cursor) return undefined;
  const position = bytes.subarray(signature_bytes);
  const valid = timingSafeEqual(bytes.subarray(0, signature_bytes), sign(keys, place, position));
  return valid ? position.toString('utf8') : undefined;
}

/** The position at which a page of a list starts; undefined at the start of a walk, which an empty cursor requests. */
export function readPosition(keys: Keys, place: CursorPlace, cursor: string): string | undefined {
  if (cursor === '') return undefined;
  const position = parseCursor(keys, place, cursor);
  if (position !== undefined) return position;
  const rule =
    'cursor must be the next_cursor of a page of this list with the same filters. Start again without a value';
  throw apiError('invalid_field', { rule }, { field: 'cursor' });
}

const signature_bytes = 16;

function sign(keys: Keys, place: CursorPlace, position: Buffer): Buffer {
  const signed = JSON.stringify(place.map((part) => (typeof part === 'string' ? part : sortFields(part))));
  return createHmac('sha256', keys.key('cursors'))
    .update(signed)
    .update('\0')
    .update(position)
    .digest()
    .subarray(0, signature_bytes);
}

/** Equal filters in another order are the same. */
function sortFields(fields: Readonly<Record<string, unknown>>): [string, unknown][] {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .sort(([left], [right]) => (left < right ? -1 : 1));
}
