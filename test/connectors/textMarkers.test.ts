import { expect, test } from 'vitest';
import { readTextMarker, withoutTextMarker, withTextMarker } from '../../src/emr/textMarkers.ts';

const own = '01a1f076f0f3771fac8f1b16399f51cf-create_appointment';
const quoted = '01a1f076-f0f3-771f-ac8f-1b16399f51aa-create_appointment';

test('the marker at the end of a text is ours, whatever people quote before it', () => {
  const comment = withTextMarker([`See ${quoted}`, null, 'Bring the card.'], own);
  expect(readTextMarker(comment)).toBe(own);
  expect(withoutTextMarker(comment)).toBe(`See ${quoted}\nBring the card.`);
  // Of texts without one, every line is somebody's.
  expect([readTextMarker('Bring the card.'), readTextMarker(null)]).toStrictEqual([undefined, undefined]);
  expect([withoutTextMarker(own), withoutTextMarker(' Hello '), withoutTextMarker(null)]).toStrictEqual([
    null,
    'Hello',
    null,
  ]);
});
