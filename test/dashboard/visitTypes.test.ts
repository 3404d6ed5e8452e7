import { expect, test } from 'vitest';
import { formatVisitTypes, parseVisitTypes } from '../../web/dashboard/pages/accounts/visitTypes.ts';

test('visit types are entered one per line, with commas in descriptions and minutes only where there are some', () => {
  const types = [
    { code: '5', description: 'Office visit', minutes: 15 },
    { code: '9', description: 'Established patient, long', minutes: 40 },
    { code: '12', description: 'Phone call', minutes: null },
  ];
  const text = formatVisitTypes(types);
  expect(text).toBe('5, Office visit, 15\n9, Established patient, long, 40\n12, Phone call');
  expect(parseVisitTypes(`${text}\n\n`)).toStrictEqual(types);
});

test('an empty field removes the setting, and a line without a description is left to the service to refuse', () => {
  expect(parseVisitTypes(' \n')).toBeNull();
  expect(parseVisitTypes('5')).toStrictEqual([{ code: '5', description: '', minutes: null }]);
});
