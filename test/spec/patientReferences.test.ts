import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { linkPlainEmr } from '../harness/plainEmr.ts';
import { row } from '../harness/row.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type Charts, openCharts, type Row } from './patientCharts.ts';

let world: TestSandbox;
let charts: Charts;
let plain: Charts;
let companies: Row[];
let doctors: Row[];
let providers: Row[];
beforeAll(async () => {
  world = await startSandbox();
  charts = openCharts(world);
  plain = openCharts(world, await linkPlainEmr(world));
  companies = (await world.api.call('GET', '/v1/insurance-providers')).body.insurance_providers;
  doctors = (await world.api.call('GET', '/v1/referring-providers')).body.referring_providers;
  providers = (await world.api.call('GET', '/v1/providers')).body.providers;
});
afterAll(() => world.close());
beforeEach(() => world.api.control('DELETE', '/control/faults'));

const nobody = 'f'.repeat(32);
const payer = (payer_id: string): Row => companies.find((each) => each.payer_id === payer_id);
const doctor = (last_name: string): Row => doctors.find((each) => each.last_name === last_name);
const hyphened = (id: string) => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
const onlyRestricted = (field: string, value: unknown) =>
  charts.refuses(400, `Field '${field}' is only supported for Larkspur EMR.`, [() => plain.create({ [field]: value })]);
const names = (role: string, first: unknown, last: unknown) => ({
  [`${role}_first_name`]: first,
  [`${role}_last_name`]: last,
});
/** The two doctors of a chart: how a request names them, and the columns in which the clinic has them. */
const roles = [
  ['referring_provider', 'referring'],
  ['pcp', 'pcp'],
] as const;
type Role = (typeof roles)[number];

test(row('PAT-06'), async () => {
  for (const emr of [charts, plain]) {
    const { chart } = await emr.created({ insurance_name: 'Synthetic Blue' });
    expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Synthetic Blue' }]);
    await charts.refuses(
      400,
      /insurance_name/,
      [5, true, ['Synthetic Blue'], {}].map((insurance_name) => () => emr.create({ insurance_name })),
    );
  }
});

test(row('PAT-07'), async () => {
  const { id, ehr_id, name, address, city, state } = payer('SYB01');
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  const { chart, id: patient_id } = await charts.created({ insurance_provider_id: id });
  expect(chart.primaryInsuranceName).toBe(name);
  const [insurance] = await charts.insurances(chart);
  expect(insurance).toMatchObject({ companyId: ehr_id, companyName: name });
  // The insurance stands with the company's own record, and so with its address.
  expect(await charts.rows('insurance-companies', { companyId: insurance.companyId })).toMatchObject([
    { name, address: { line1: address, city, state } },
  ]);
  expect((await charts.listed(patient_id)).insurance_name).toBe(name);
  await charts.refuses(400, /insurance_provider_id/, [() => charts.create({ insurance_provider_id: 316 })]);
  await onlyRestricted('insurance_provider_id', id);
});

test(row('PAT-08'), async () => {
  const twins = companies.filter(({ name }) => name === 'Sample Health Plan');
  expect(twins).toHaveLength(3);
  for (const { id, ehr_id, payer_id } of twins) {
    const { chart } = await charts.created({ insurance_name: 'Sample Health Plan', insurance_provider_id: id });
    expect(await charts.insurances(chart)).toMatchObject([{ companyId: ehr_id, payerId: payer_id }]);
  }
});

test(row('PAT-09'), async () => {
  const fallen = { insurance_provider_id: nobody, insurance_name: 'Prototype HMO' };
  const { chart } = await charts.created(fallen);
  expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Prototype HMO' }]);
  await charts.refuses(404, `Insurance provider with ID '${nobody}' not found.`, [
    () => charts.create({ insurance_provider_id: nobody }),
    () => charts.create({ insurance_provider_id: nobody, secondary_insurance_name: 'Prototype PPO' }),
  ]);
});

/** A pair of names: taken together, refused one without the other. */
async function pairs([role, column]: Role, emr: Charts): Promise<void> {
  const { chart } = await emr.created(names(role, 'Known', 'Byname'));
  expect(chart).toMatchObject({ [`${column}FirstName`]: 'Known', [`${column}LastName`]: 'Byname' });
  await charts.refuses(400, `${role}_first_name and ${role}_last_name must be used together`, [
    () => emr.create({ [`${role}_first_name`]: 'Known' }),
    () => emr.create({ [`${role}_last_name`]: 'Byname' }),
    () => emr.create(names(role, 'Known', '')),
  ]);
}

test(row('PAT-12'), async () => {
  for (const emr of [charts, plain]) await pairs(roles[0], emr);
});

test(row('PAT-15'), async () => {
  for (const emr of [charts, plain]) await pairs(roles[1], emr);
});

/** An id of the list of referring providers: what the clinic has of that doctor, and only where ids are taken. */
async function looksUp([role, column]: Role): Promise<void> {
  const { id, ehr_id, first_name, last_name, phone, fax } = doctor('Sendington');
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  const { chart } = await charts.created({ [`${role}_id`]: id });
  expect(chart).toMatchObject({ [`${column}Id`]: ehr_id, ...named(column, first_name, last_name) });
  expect(await charts.rows('referring-providers', { referringId: ehr_id })).toMatchObject([
    { firstName: first_name, lastName: last_name, phone, fax },
  ]);
  await charts.refuses(400, new RegExp(`${role}_id`), [() => charts.create({ [`${role}_id`]: 8007 })]);
  await onlyRestricted(`${role}_id`, id);
}
const named = (column: string, first: string, last: string) => ({
  [`${column}FirstName`]: first,
  [`${column}LastName`]: last,
});

/** An id that nobody has: the names beside it serve, and without them there is nobody. */
async function fallsBack([role, column]: Role): Promise<void> {
  const { chart } = await charts.created({ [`${role}_id`]: nobody, ...names(role, 'Fallen', 'Back') });
  expect(chart).toMatchObject({ [`${column}Id`]: null, ...named(column, 'Fallen', 'Back') });
  const { ehr_id } = doctor('Forwarden');
  const listed = await charts.created({ [`${role}_id`]: nobody, ...names(role, 'Winter', 'Forwarden') });
  expect(listed.chart[`${column}Id`]).toBe(ehr_id);
  await charts.refuses(404, new RegExp(`provider with ID '${nobody}' not found`), [
    () => charts.create({ [`${role}_id`]: nobody }),
  ]);
}

test(row('PAT-13'), async () => {
  await looksUp(roles[0]);
});

test(row('PAT-14'), async () => {
  await fallsBack(roles[0]);
});

test(row('PAT-16'), async () => {
  await looksUp(roles[1]);
  await fallsBack(roles[1]);
  const { chart } = await charts.created({ pcp_id: providers[2].id });
  expect(chart.pcpId).toBe(providers[2].ehr_id);
});

test(row('PAT-17'), async () => {
  for (const emr of [charts, plain]) {
    const { chart } = await emr.created({ referred_to_provider_id: providers[4].ehr_id });
    expect(chart.renderingProviderId).toBe(providers[4].ehr_id);
  }
  await charts.refuses(404, `Provider with EMR ID '${providers[4].id}' not found.`, [
    () => charts.create({ referred_to_provider_id: providers[4].id }),
  ]);
});

test(row('DEC-134'), async () => {
  const [one, other] = [doctor('Notewell'), doctor('Handover')];
  const by_id = await charts.created({
    ...{ referring_provider_id: one.id, pcp_id: other.id, referred_to_provider_id: '502' },
    ...names('referring_provider', one.first_name, one.last_name),
    ...names('pcp', other.first_name, other.last_name),
  });
  const kept = { referringId: one.ehr_id, pcpId: other.ehr_id };
  expect(by_id.chart).toMatchObject({ ...kept, renderingProviderId: '502' });
  const by_name = await charts.created({
    ...names('referring_provider', one.first_name, one.last_name),
    ...names('pcp', other.first_name, other.last_name),
  });
  expect(by_name.chart).toMatchObject({ ...kept, referringLastName: 'Notewell', pcpLastName: 'Handover' });
});

test(row('DEC-157'), async () => {
  const { chart } = await charts.created({
    ...{ insurance_provider_id: nobody, insurance_name: 'Synthetic Blue' },
    ...{ referring_provider_id: nobody, ...names('referring_provider', 'Refer', 'Byname') },
    ...{ pcp_id: nobody, ...names('pcp', 'Care', 'Byname') },
  });
  expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Synthetic Blue' }]);
  expect(chart).toMatchObject({ ...named('referring', 'Refer', 'Byname'), ...named('pcp', 'Care', 'Byname') });
});

test(row('DEC-158'), async () => {
  await charts.refuses(
    404,
    /with ID '.*' not found\.$/,
    ['insurance_provider_id', 'referring_provider_id', 'pcp_id'].flatMap((field) =>
      [nobody, 'no-id-at-all'].map((id) => () => charts.create({ [field]: id })),
    ),
  );
});

test(row('DEC-159'), async () => {
  const { chart, ...created } = await charts.created({ pcp_id: providers[0].id });
  expect(chart.pcpId).toBe(providers[0].ehr_id);
  expect((await charts.updated({ chart, ...created }, { pcp_id: providers[1].id })).pcpId).toBe(providers[1].ehr_id);
});

test(row('DEC-160'), async () => {
  const [company, one, other] = [payer('PLS01'), doctor('Notewell'), doctor('Handover')];
  const created = await charts.created({
    insurance_provider_id: hyphened(company.id),
    referring_provider_id: hyphened(one.id),
    pcp_id: hyphened(other.id),
  });
  expect(await charts.insurances(created.chart)).toMatchObject([{ companyId: company.ehr_id }]);
  expect(created.chart).toMatchObject({ referringId: one.ehr_id, pcpId: other.ehr_id });
  const swapped = { referring_provider_id: hyphened(other.id), pcp_id: hyphened(one.id) };
  expect(await charts.updated(created, swapped)).toMatchObject({ referringId: other.ehr_id, pcpId: one.ehr_id });
  const { row } = await charts.added(created.mrn, { insurance_provider_id: hyphened(company.id) });
  expect(row.companyId).toBe(company.ehr_id);
});

/** One of a doctor's two names alone, of a new patient and of one there is. */
async function refusesHalf(role: string): Promise<void> {
  const { id } = await charts.created();
  const halves = [{ [`${role}_first_name`]: 'Half' }, { [`${role}_last_name`]: 'Half' }];
  const words = `${role}_first_name and ${role}_last_name must be used together`;
  await charts.refuses(400, words, [
    ...halves.map((half) => () => charts.create(half)),
    ...halves.map((half) => () => charts.patch(id, { phone: '518-555-0161', ...half })),
  ]);
}

test(row('DEC-161'), async () => {
  await refusesHalf('referring_provider');
});

test(row('DEC-162'), async () => {
  await refusesHalf('pcp');
});

test(row('DEC-163'), async () => {
  const { id, mrn, chart } = await charts.created();
  await charts.refuses(
    404,
    /referring provider.* named 'Nobody Known'/,
    roles.map(
      ([role]) =>
        () =>
          charts.patch(id, { phone: '518-555-0163', ...names(role, 'Nobody', 'Known') }),
    ),
  );
  expect(await charts.chart(mrn)).toStrictEqual(chart);
  expect((await charts.listed(id)).status).toBe('active');
});
