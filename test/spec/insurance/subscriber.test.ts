import { beforeAll, beforeEach, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { patient } from '../../journeys/support.ts';
import { type Charts, createCharts, type Fields, anotherPatient as next } from '../patients/charts.ts';

let fixture: TestSandbox;
let charts: Charts;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const good = { member_id: 'M-1', insurance_name: 'Mock Mutual' };
const person = { first_name: 'Sub', last_name: 'Scriber' };
const rejectsValues = (field: string, values: unknown[], extra: Fields = {}) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.add(patient(1).mrn, { ...good, ...extra, [field]: value })),
  );
const strings_only = [5, true, ['text'], { text: 'text' }];
const codes = { '01': 'self', '02': 'spouse', 32: 'mother', 33: 'father', 17: 'step parent', 20: 'employee' };
const relationships = { ...codes, 53: 'life partner', 25: 'other' };
/** A relationship, and the subscriber unless it is the patient. */
const relatedBy = (relationship: string) => ({
  relationship_to_subscriber: relationship,
  ...(/^(01|self)$/i.test(relationship) ? {} : { subscriber_demographics: person }),
});
const related = (mrn: string, relationship: string) => charts.added(mrn, relatedBy(relationship));

test(row('INS-11'), async () => {
  for (const relationship of ['02', 'spouse', 'SPOUSE', 'SpOuSe']) {
    const { row } = await charts.added(next().mrn, {
      relationship_to_subscriber: relationship,
      subscriber_demographics: person,
    });
    expect(row.relationshipCode, relationship).toBe('02');
  }
  expect((await charts.added(next().mrn)).row.relationshipCode).toBeNull();
  await rejectsValues('relationship_to_subscriber', strings_only);
});

test(row('INS-12'), async () => {
  const subscriber_demographics = {
    first_name: 'Sub',
    last_name: 'Scriber',
    street_line_1: '9 Subscriber Street',
    city: 'Exampleton',
    state: 'NY',
    zip: '12999',
    sex: 'male',
    dob: '1970-01-31',
    phone: '518-555-0112',
  };
  const { row } = await charts.added(next().mrn, { relationship_to_subscriber: '33', subscriber_demographics });
  expect(await charts.rows('guarantors', { guarantorId: row.guarantorId })).toMatchObject([
    {
      firstName: 'Sub',
      lastName: 'Scriber',
      address: { line1: '9 Subscriber Street', city: 'Exampleton', state: 'NY', zip: '12999' },
      sexCode: 'M',
      birthDate: '01/31/1970',
      phone: '518-555-0112',
    },
  ]);
  await rejectsValues('subscriber_demographics', ['Sub Scriber', 5, true, [person]]);
  for (const field of Object.keys(subscriber_demographics)) {
    const wrong = strings_only.map((value) => ({ ...subscriber_demographics, [field]: value }));
    await rejectsValues('subscriber_demographics', wrong);
  }
});

test(row('INS-17'), async () => {
  const subscribed = (state: unknown) => ({
    relationship_to_subscriber: 'mother',
    subscriber_demographics: { ...person, state },
  });
  for (const state of ['NY', 'ny', 'Wy']) {
    const { row } = await charts.added(next().mrn, subscribed(state));
    const [guarantor] = await charts.rows('guarantors', { guarantorId: row.guarantorId });
    expect(guarantor.address.state).toBe(state.toUpperCase());
  }
  const wrong = ['ZZ', 'New York', 'N', 'NYC', 'N1', 'ON', 36];
  await charts.rejects(
    400,
    /state/,
    wrong.map((state) => () => charts.add(patient(1).mrn, { ...good, ...subscribed(state) })),
  );
});

test(row('INS-18'), async () => {
  const subscribed = (zip: unknown) => ({
    relationship_to_subscriber: 'mother',
    subscriber_demographics: { ...person, zip },
  });
  for (const zip of ['12999', '12999-0001']) {
    const { row } = await charts.added(next().mrn, subscribed(zip));
    const [guarantor] = await charts.rows('guarantors', { guarantorId: row.guarantorId });
    expect(guarantor.address.zip).toBe(zip);
  }
  const wrong = ['129990001', '1299', '129990', '12999-', '12999-001', '12999-00011', '12999 0001', 'K1A 0', 12999];
  await charts.rejects(
    400,
    /zip/,
    wrong.map((zip) => () => charts.add(patient(1).mrn, { ...good, ...subscribed(zip) })),
  );
});

test(row('INS-19'), async () => {
  const stored = await Promise.all(
    Object.keys(relationships).map(async (code) => {
      return [code, (await related(next().mrn, code)).row.relationshipCode];
    }),
  );
  for (const [code, there] of stored) expect(there).toBe(code);
});

test(row('INS-20'), async () => {
  await Promise.all(
    Object.entries(relationships).map(async ([code, name]) => {
      const { mrn } = next();
      const capital = name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase());
      for (const relationship of [name, name.toUpperCase(), capital]) {
        expect((await related(mrn, relationship)).row.relationshipCode, relationship).toBe(code);
      }
    }),
  );
});

test(row('INS-21'), async () => {
  const wrong = ['cousin', 'parent', 'step-parent', 'stepparent', '1', '2', '00', '03', '18', '99', '019', 'self 2'];
  await rejectsValues('relationship_to_subscriber', wrong, { subscriber_demographics: person });
  const fields = (relationship: string) => ({
    relationship_to_subscriber: relationship,
    subscriber_demographics: person,
  });
  for (const relationship of ['19', 'child'])
    expect((await charts.added(next().mrn, fields(relationship))).row.relationshipCode).toBe('19');
});

test(row('DEC-181'), async () => {
  const pairs = { '01': 'self', '02': 'spouse', 32: 'mother', 33: 'father', 17: 'step parent', 20: 'employee' };
  await Promise.all(
    Object.entries({ ...pairs, 53: 'life partner', 25: 'other' }).map(async ([code, name]) => {
      const { mrn } = next();
      const by_name = await related(mrn, name);
      expect([name, by_name.row.relationshipCode]).toStrictEqual([name, code]);
      const by_code = await related(mrn, code);
      expect(by_code.row.relationshipCode).toBe(by_name.row.relationshipCode);
    }),
  );
});

test(row('DEC-182'), async () => {
  for (const relationship of ['19', 'child', 'Child'])
    expect((await related(next().mrn, relationship)).row.relationshipCode).toBe('19');
});

test(row('DEC-189'), async () => {
  const incomplete = [undefined, {}, { first_name: 'Sub' }, { last_name: 'Scriber' }, { ...person, last_name: '' }];
  const others = [...Object.entries(relationships).flat(), '19', 'child'].filter(
    (relationship) => !['01', 'self'].includes(relationship),
  );
  for (const relationship of others) {
    await charts.rejects(
      400,
      /subscriber_demographics\.(first|last)_name/,
      incomplete.map(
        (subscriber_demographics) => () =>
          charts.add(patient(1).mrn, {
            ...good,
            relationship_to_subscriber: relationship,
            subscriber_demographics,
          }),
      ),
    );
  }
  for (const relationship of ['01', 'self']) {
    const { row } = await charts.added(next().mrn, { relationship_to_subscriber: relationship });
    expect(row.relationshipCode).toBe('01');
  }
});

test(row('RUL-11'), async () => {
  const rule =
    'subscriber_demographics must not be sent with relationship_to_subscriber self: the patient is the subscriber';
  const { mrn } = patient(1);
  const { data } = await charts.added(next().mrn, relatedBy('spouse'));
  for (const relationship_to_subscriber of ['self', 'SELF', '01']) {
    await charts.rejects(400, rule, [
      () => charts.add(mrn, { ...good, relationship_to_subscriber, subscriber_demographics: person }),
      () =>
        charts.add(mrn, { ...good, relationship_to_subscriber, subscriber_demographics: { phone: '518-555-0112' } }),
      () =>
        charts.change(data.patient_mrn, data.emr_insurance_id, {
          relationship_to_subscriber,
          subscriber_demographics: person,
        }),
    ]);
  }
  // Nothing is lost if the subscriber is empty.
  for (const subscriber_demographics of [undefined, {}]) {
    const fields = { relationship_to_subscriber: 'self', subscriber_demographics };
    expect((await charts.added(next().mrn, fields)).row).toMatchObject({ relationshipCode: '01', guarantorId: null });
  }
});
