import { beforeAll, beforeEach, expect, test } from 'vitest';
import { dereference } from '../../../src/http/openapi/describeSchema.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Charted, type Charts, createCharts, type Fields, type Row } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let fhir: Charts;
/** One insured patient for each value of `responsible_party`, with the chart. */
let charted: Map<string, Charted>;
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  fhir = createCharts(fixture, (await fhirAccount(fixture)).api);
  const all = Object.keys(codes).map(async (responsible_party): Promise<[string, Charted]> => {
    const fields = responsible_party === 'self' ? {} : paid_for;
    return [responsible_party, await charts.created({ ...fields, responsible_party, insurance_name: 'Demo Medicare' })];
  });
  charted = new Map(await Promise.all(all));
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const codes = {
  ...{ self: '1', spouse: '2', child: '3', adopted_child: '4', step_child: '5', foster_child: '6', ward_of_court: '7' },
  ...{ employee: '8', unknown: '9', handicapped_dependent: '10', organ_donor: '11', cadaver_donor: '12' },
  ...{ grandchild: '13', niece_nephew: '14', injured_plaintiff: '15', sponsored_dependent: '16' },
  ...{ minor_dependent: '17', parent: '18', grandparent: '19', life_partner: '53', other: '99' },
};
const others = Object.keys(codes).filter((value) => value !== 'self');
const paid_for = {
  responsible_party_first_name: 'Pay',
  responsible_party_last_name: 'Master',
  responsible_party_sex: 'male',
  responsible_party_dob: '1960-02-29',
  responsible_party_phone: '518-555-0134',
};
const with_payer = { responsible_party: 'parent', ...paid_for };
const rejectsValues = (field: string, values: unknown[]) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.create({ ...with_payer, [field]: value })),
  );
const onlyRestricted = (fields: Fields, field: string) =>
  charts.rejects(400, `Field '${field}' is only supported for Larkspur EMR.`, [() => fhir.create(fields)]);
/** The only guarantor in a chart. */
async function readGuarantor(chart: Row): Promise<Row> {
  const rows = await charts.guarantors(chart);
  expect(rows).toHaveLength(1);
  return rows[0];
}
/** The guarantor relationships of these patients in a live fetch. */
const relationships = (values: string[]) =>
  Promise.all(
    values.map(async (value) => {
      const body = { search_by: 'mrn', mrn: charted.get(value)?.mrn };
      const { data } = await charts.outcome(await fixture.api.call('POST', '/v1/patients/fetch', { body }));
      return data.guarantors.map(({ relationship }: Row) => relationship);
    }),
  );

test(row('PAT-19'), async () => {
  for (const fields of [{}, { responsible_party: 'self' }]) {
    const { chart } = await charts.created(fields);
    expect(chart).toMatchObject({ responsiblePartyCode: '1', responsibleGuarantorId: null });
    expect(await charts.guarantors(chart)).toStrictEqual([]);
  }
  const { paths } = dereference((await fixture.api.call('GET', '/openapi.json')).body);
  const schema = paths['/v1/patients']?.post?.requestBody?.content['application/json']?.schema;
  const [accepted] = schema?.properties?.responsible_party?.anyOf ?? [];
  const { enum: values = [], default: default_value } = accepted ?? {};
  expect([...values].sort()).toStrictEqual(Object.keys(codes).sort());
  expect(default_value).toBe('self');
});

test(row('PAT-20'), async () => {
  for (const responsible_party of others) await onlyRestricted({ responsible_party, ...paid_for }, 'responsible_party');
  const self = await fhir.outcome(await fhir.create({ responsible_party: 'self' }));
  expect(self.event_type).toBe('patient.created');
  expect(charted.get('spouse')?.chart.responsiblePartyCode).toBe('2');
});

test(row('PAT-21'), async () => {
  expect(Object.keys(codes)).toHaveLength(21);
  for (const [value, code] of Object.entries(codes)) {
    const chart = charted.get(value)?.chart;
    expect([value, chart.responsiblePartyCode]).toStrictEqual([value, code]);
    if (value !== 'self') expect((await readGuarantor(chart)).relationshipCode).toBe(code);
  }
});

test(row('PAT-22'), async () => {
  await rejectsValues('responsible_party', ['cousin', 'Spouse', 'SELF', '2', 2, 'step child', 'mother']);
});

test(row('PAT-23'), async () => {
  for (const field of ['responsible_party_first_name', 'responsible_party_last_name']) {
    for (const responsible_party of others) {
      await charts.rejects(
        400,
        `Missing required field: ${field}`,
        [undefined, ''].map((value) => () => charts.create({ ...paid_for, responsible_party, [field]: value })),
      );
    }
    await onlyRestricted({ [field]: 'Pay' }, field);
  }
  const { responsible_party_first_name, responsible_party_last_name } = paid_for;
  const names = { responsible_party_first_name, responsible_party_last_name };
  const { chart } = await charts.created({ responsible_party: 'spouse', ...names });
  expect(await readGuarantor(chart)).toMatchObject({ firstName: 'Pay', lastName: 'Master' });
  await charts.created({ responsible_party: 'self' });
});

test(row('PAT-24'), async () => {
  for (const [responsible_party_sex, sexCode] of Object.entries({ male: 'M', female: 'F' })) {
    const { chart } = await charts.created({ ...with_payer, responsible_party_sex });
    expect((await readGuarantor(chart)).sexCode).toBe(sexCode);
  }
  await rejectsValues('responsible_party_sex', ['unknown', 'M', 'Male', 1]);
  await onlyRestricted({ responsible_party_sex: 'male' }, 'responsible_party_sex');
});

test(row('PAT-25'), async () => {
  const { chart } = await charts.created({ ...with_payer, responsible_party_dob: '1961-12-07' });
  expect((await readGuarantor(chart)).birthDate).toBe('12/07/1961');
  const forms = ['12/07/1961', '1961-12-7', '19611207', '1961-02-29', 19611207];
  await rejectsValues('responsible_party_dob', forms);
  await onlyRestricted({ responsible_party_dob: '1961-12-07' }, 'responsible_party_dob');
});

test(row('PAT-26'), async () => {
  const { chart } = await charts.created({ ...with_payer, responsible_party_phone: '518-555-0126' });
  expect((await readGuarantor(chart)).phone).toBe('518-555-0126');
  await rejectsValues('responsible_party_phone', [5185550126, true, ['518-555-0126'], {}]);
  await onlyRestricted({ responsible_party_phone: '518-555-0126' }, 'responsible_party_phone');
});

test(row('PAT-34'), async () => {
  const before = await charts.rows('guarantors');
  const { chart } = await charts.created({ ...with_payer, insurance_name: 'Demo Medicare' });
  const guarantor = await readGuarantor(chart);
  expect(before.map(({ guarantorId }) => guarantorId)).not.toContain(guarantor.guarantorId);
  expect(guarantor).toMatchObject({
    patientId: chart.patientId,
    firstName: 'Pay',
    lastName: 'Master',
    sexCode: 'M',
    birthDate: '02/29/1960',
    phone: '518-555-0134',
    relationshipCode: '18',
    guarantorIsPatient: 'N',
  });
});

test(row('PAT-35'), async () => {
  const insured = { insurance_name: 'Demo Medicare', secondary_insurance_name: 'Prototype PPO' };
  const { chart } = await charts.created({ ...with_payer, ...insured });
  const { guarantorId } = await readGuarantor(chart);
  const insurances = await charts.insurances(chart);
  expect(insurances).toHaveLength(2);
  for (const insurance of insurances) expect(insurance).toMatchObject({ guarantorId, guarantorIsPatient: 'N' });
  expect(chart).toMatchObject({ responsiblePartyCode: '18', responsibleGuarantorId: guarantorId });
});

test(row('PAT-36'), async () => {
  const fields = { ...with_payer, responsible_party_last_name: 'Twice', insurance_name: 'Demo Medicare' };
  const first = await charts.created(fields);
  const known = await readGuarantor(first.chart);
  const second = await charts.created(fields);
  const again = await readGuarantor(second.chart);
  expect(again.guarantorId).not.toBe(known.guarantorId);
  const { patientId } = second.chart;
  expect(again).toStrictEqual({ ...known, guarantorId: again.guarantorId, patientId });
  expect(await readGuarantor(first.chart)).toStrictEqual(known);
  expect(await charts.rows('guarantors', { lastName: 'Twice' })).toHaveLength(2);
});

test(row('DEC-133'), async () => {
  const { chart } = await charts.created({
    responsible_party: 'grandparent',
    responsible_party_first_name: 'Grand',
    responsible_party_last_name: 'Parent',
    responsible_party_sex: 'female',
    responsible_party_dob: '1940-03-01',
    responsible_party_phone: '518-555-0133',
  });
  expect(chart.responsiblePartyCode).toBe('19');
  expect(await readGuarantor(chart)).toMatchObject({
    ...{ firstName: 'Grand', lastName: 'Parent', sexCode: 'F', birthDate: '03/01/1940', phone: '518-555-0133' },
    relationshipCode: '19',
  });
});

test(row('DEC-150'), async () => {
  const chart = charted.get('self')?.chart;
  // Larkspur has no guarantor record for a patient who pays; this adds one with the code that we sent.
  const { patientId, firstName, lastName, responsiblePartyCode: relationshipCode } = chart;
  const { status } = await fixture.api.control('POST', '/control/guarantors', {
    ...{ patientId, firstName, lastName, relationshipCode, guarantorIsPatient: 'Y' },
  });
  expect(status).toBe(201);
  expect(await relationships(['self'])).toStrictEqual([['self']]);
});

test(row('DEC-151'), async () => {
  expect(await relationships(['spouse', 'life_partner'])).toStrictEqual([['spouse'], ['spouse']]);
});

const child_kinds = ['child', 'adopted_child', 'step_child', 'foster_child', 'grandchild', 'ward_of_court'];
const children = [...child_kinds, 'minor_dependent'];

test(row('DEC-152'), async () => {
  expect(await relationships(children)).toStrictEqual(children.map(() => ['child']));
});

test(row('DEC-153'), async () => {
  const rest = others.filter((value) => ![...children, 'spouse', 'life_partner'].includes(value));
  expect(rest).toHaveLength(11);
  expect(await relationships(rest)).toStrictEqual(rest.map(() => ['other']));
});
