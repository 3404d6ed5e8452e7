import type * as fhir from 'fhir/r4.js';
import { describe, expect, test } from 'vitest';
import { describeIdentifiers, guessMrnRule, readMrn } from '../../../../src/emr/fhir/patients/mrn.ts';

type Make = (n: number) => fhir.Identifier[];

const patientsWith = (make: Make, count = 10): fhir.Patient[] =>
  Array.from({ length: count }, (_, n) => ({ resourceType: 'Patient', id: `p${n}`, identifier: make(n) }));

const typed = (code: string, value: string, system?: string): fhir.Identifier => ({
  type: { coding: [{ code }] },
  value,
  ...(system && { system }),
});

describe('the identifier that is the MRN is guessed', () => {
  test.each<[string, Make, object | undefined]>([
    ['by type MR', (n) => [typed('PT', `P${n}`), typed('MR', `M${n}`, 'urn:mrn')], { system: 'urn:mrn', type: 'MR' }],
    ['by type PT', (n) => [typed('SS', `S${n}`), typed('PT', `P${n}`)], { type: 'PT' }],
    [
      'of several of type MR, by the system that nearly all have',
      (n) => [typed('MR', `M${n}`, 'urn:own'), ...(n < 3 ? [typed('MR', `X${n}`, 'urn:other')] : [])],
      { system: 'urn:own', type: 'MR' },
    ],
    [
      'as the usual one',
      (n) => [
        { system: 'urn:a', value: `A${n}` },
        { use: 'usual', system: 'urn:b', value: `B${n}` },
      ],
      { system: 'urn:b' },
    ],
    ['as the only one', (n) => [{ system: 'urn:a', value: `A${n}` }], { system: 'urn:a' }],
    [
      'not among several without a type',
      (n) => [
        { system: 'urn:a', value: `A${n}` },
        { system: 'urn:b', value: `B${n}` },
      ],
      undefined,
    ],
    ['not as one that patients share', () => [typed('MR', 'same')], undefined],
    ['not as one that many patients lack', (n) => (n < 6 ? [typed('MR', `M${n}`)] : []), undefined],
    ['not as our own marker', (n) => [{ system: 'urn:chartwire:marker', value: `m${n}` }], undefined],
    ['not as one that is no longer in use', (n) => [{ ...typed('MR', `M${n}`), use: 'old' }], undefined],
  ])('%s', (_how, make, rule) => {
    expect(guessMrnRule(patientsWith(make))).toStrictEqual(rule);
  });

  test('the identifier that is the MRN is guessed only if there are enough patients', () => {
    const make: Make = (n) => [typed('MR', `M${n}`)];
    expect(guessMrnRule(patientsWith(make, 2))).toBeUndefined();
    expect(guessMrnRule(patientsWith(make, 3))).toStrictEqual({ type: 'MR' });
  });
});

describe('by a rule, the MRN is', () => {
  const [patient] = patientsWith(() => [typed('MR', 'M1', 'urn:mrn'), { system: 'urn:a', value: 'A1' }], 1);
  test.each([
    ['the identifier of the system', { system: 'urn:a' }, 'A1'],
    ['the identifier of the type, in any case', { type: 'mr' }, 'M1'],
    ['the identifier of both', { system: 'urn:mrn', type: 'MR' }, 'M1'],
    ['the resource id, never another identifier, if none matches', { system: 'urn:a', type: 'MR' }, 'p0'],
  ])('%s', (_what, rule, mrn) => {
    expect(patient && readMrn(patient, rule)).toBe(mrn);
  });
});

test('the identifiers of a sample are counted, the most common ones first', () => {
  const patients = patientsWith((n) => [...(n < 2 ? [typed('SS', `S${n}`)] : []), typed('MR', `M${n}`, 'urn:mrn')], 5);
  expect(describeIdentifiers(patients, { type: 'MR' })).toStrictEqual({
    patients: 5,
    mrns: ['M0', 'M1', 'M2', 'M3', 'M4'],
    identifiers: [
      { system: 'urn:mrn', type: 'MR', patients: 5, values: ['M0', 'M1', 'M2'] },
      { system: null, type: 'SS', patients: 2, values: ['S0', 'S1'] },
    ],
  });
});
