import type * as fhirTypes from 'fhir/r4.js';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { FhirServer } from '../../harness/fhir/startFhirServer.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Charts, createCharts, type Fields, type Row } from './charts.ts';

let fixture: TestSandbox;
let charts: Charts;
let fhir: Charts;
let server: FhirServer;
let companies: Row[];
let doctors: Row[];
let providers: Row[];
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  const account = await fhirAccount(fixture);
  server = account.server;
  fhir = createCharts(fixture, account.api);
  companies = (await fixture.api.call('GET', '/v1/insurance-providers')).body.insurance_providers;
  doctors = (await fixture.api.call('GET', '/v1/referring-providers')).body.referring_providers;
  providers = (await fixture.api.call('GET', '/v1/providers')).body.providers;
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const unknown_id = 'f'.repeat(32);
const payer = (payer_id: string): Row => companies.find((each) => each.payer_id === payer_id);
const doctor = (last_name: string): Row => doctors.find((each) => each.last_name === last_name);
const hyphened = (id: string) => id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
const onlyRestricted = (field: string, value: unknown) =>
  charts.rejects(400, `Field '${field}' is only supported for Larkspur EMR.`, [() => fhir.create({ [field]: value })]);
const names = (role: string, first: unknown, last: unknown) => ({
  [`${role}_first_name`]: first,
  [`${role}_last_name`]: last,
});
/** The two doctors of a patient: the prefix of the request fields, and of Larkspur's columns. */
const roles = [
  ['referring_provider', 'referring'],
  ['pcp', 'pcp'],
] as const;
type Role = (typeof roles)[number];

test(row('PAT-06'), async () => {
  const { chart } = await charts.created({ insurance_name: 'Synthetic Blue' });
  expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Synthetic Blue' }]);
  const other = await fhir.outcome(await fhir.create({ insurance_name: 'Synthetic Blue' }));
  expect(other.event_type).toBe('patient.created');
  const coverages = await server.resources<fhirTypes.Coverage>('Coverage');
  expect(coverages.flatMap(({ payor }) => payor.map(({ display }) => display))).toContain('Synthetic Blue');
  for (const emr of [charts, fhir]) {
    await charts.rejects(
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
  // It refers to the company record, and so has its address.
  expect(await charts.rows('insurance-companies', { companyId: insurance.companyId })).toMatchObject([
    { name, address: { line1: address, city, state } },
  ]);
  expect((await charts.listed(patient_id)).insurance_name).toBe(name);
  await charts.rejects(400, /insurance_provider_id/, [() => charts.create({ insurance_provider_id: 316 })]);
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
  const fallen = { insurance_provider_id: unknown_id, insurance_name: 'Prototype HMO' };
  const { chart } = await charts.created(fallen);
  expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Prototype HMO' }]);
  await charts.rejects(404, `Insurance provider with ID '${unknown_id}' not found.`, [
    () => charts.create({ insurance_provider_id: unknown_id }),
    () => charts.create({ insurance_provider_id: unknown_id, secondary_insurance_name: 'Prototype PPO' }),
  ]);
});

/** The two names of a doctor: accepted together, rejected one without the other, for any EMR. */
async function checkNamePair([role, column]: Role): Promise<void> {
  const { chart } = await charts.created(names(role, 'Known', 'Byname'));
  expect(chart).toMatchObject({ [`${column}FirstName`]: 'Known', [`${column}LastName`]: 'Byname' });
  await rejectsHalves(role, charts);
  if (role === 'pcp') await rejectsHalves(role, fhir);
}
const rejectsHalves = (role: string, emr: Charts) =>
  charts.rejects(400, `${role}_first_name and ${role}_last_name must be used together`, [
    () => emr.create({ [`${role}_first_name`]: 'Known' }),
    () => emr.create({ [`${role}_last_name`]: 'Byname' }),
    () => emr.create(names(role, 'Known', '')),
  ]);

/** FHIR R4 has no element for these: the request is rejected and names the field. */
const expectNoElement = (fields: Fields, field: string) =>
  charts.rejects(400, `Field '${field}' is not supported by this EMR.`, [() => fhir.create(fields)]);

test(row('PAT-12'), async () => {
  await checkNamePair(roles[0]);
  await expectNoElement(names('referring_provider', 'Known', 'Byname'), 'referring_provider_first_name');
});

test(row('PAT-15'), async () => {
  await checkNamePair(roles[1]);
  const event = await fhir.outcome(await fhir.create(names('pcp', 'Known', 'Byname')));
  expect(event.event_type).toBe('patient.created');
  const patients = await server.resources<fhirTypes.Patient>('Patient');
  const doctors_named = patients.flatMap(({ generalPractitioner = [] }) => generalPractitioner);
  expect(doctors_named.map(({ display }) => display)).toContain('Known Byname');
});

/** An id from the list of referring providers saves that doctor, for Larkspur only. */
async function looksUp([role, column]: Role): Promise<void> {
  const { id, ehr_id, first_name, last_name, phone, fax } = doctor('Sendington');
  expect(id).toMatch(/^[0-9a-f]{32}$/);
  const { chart } = await charts.created({ [`${role}_id`]: id });
  expect(chart).toMatchObject({ [`${column}Id`]: ehr_id, ...named(column, first_name, last_name) });
  expect(await charts.rows('referring-providers', { referringId: ehr_id })).toMatchObject([
    { firstName: first_name, lastName: last_name, phone, fax },
  ]);
  await charts.rejects(400, new RegExp(`${role}_id`), [() => charts.create({ [`${role}_id`]: 8007 })]);
  await onlyRestricted(`${role}_id`, id);
}
const named = (column: string, first: string, last: string) => ({
  [`${column}FirstName`]: first,
  [`${column}LastName`]: last,
});

/** With an unknown id the names are used; without names the request is rejected. */
async function fallsBack([role, column]: Role): Promise<void> {
  const { chart } = await charts.created({ [`${role}_id`]: unknown_id, ...names(role, 'Fallen', 'Back') });
  expect(chart).toMatchObject({ [`${column}Id`]: null, ...named(column, 'Fallen', 'Back') });
  const { ehr_id } = doctor('Forwarden');
  const listed = await charts.created({ [`${role}_id`]: unknown_id, ...names(role, 'Winter', 'Forwarden') });
  expect(listed.chart[`${column}Id`]).toBe(ehr_id);
  await charts.rejects(404, new RegExp(`provider with ID '${unknown_id}' not found`), [
    () => charts.create({ [`${role}_id`]: unknown_id }),
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
  const { chart } = await charts.created({ referred_to_provider_id: providers[4].ehr_id });
  expect(chart.renderingProviderId).toBe(providers[4].ehr_id);
  await expectNoElement({ referred_to_provider_id: 'prac-1' }, 'referred_to_provider_id');
  await charts.rejects(404, `Provider with EMR ID '${providers[4].id}' not found.`, [
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
  const unchanged = { referringId: one.ehr_id, pcpId: other.ehr_id };
  expect(by_id.chart).toMatchObject({ ...unchanged, renderingProviderId: '502' });
  const by_name = await charts.created({
    ...names('referring_provider', one.first_name, one.last_name),
    ...names('pcp', other.first_name, other.last_name),
  });
  expect(by_name.chart).toMatchObject({ ...unchanged, referringLastName: 'Notewell', pcpLastName: 'Handover' });
});

test(row('DEC-157'), async () => {
  const { chart } = await charts.created({
    ...{ insurance_provider_id: unknown_id, insurance_name: 'Synthetic Blue' },
    ...{ referring_provider_id: unknown_id, ...names('referring_provider', 'Refer', 'Byname') },
    ...{ pcp_id: unknown_id, ...names('pcp', 'Care', 'Byname') },
  });
  expect(await charts.insurances(chart)).toMatchObject([{ companyName: 'Synthetic Blue' }]);
  expect(chart).toMatchObject({ ...named('referring', 'Refer', 'Byname'), ...named('pcp', 'Care', 'Byname') });
});

test(row('DEC-158'), async () => {
  await charts.rejects(
    404,
    /with ID '.*' not found\.$/,
    ['insurance_provider_id', 'referring_provider_id', 'pcp_id'].flatMap((field) =>
      [unknown_id, 'no-id-at-all'].map((id) => () => charts.create({ [field]: id })),
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

/** One of the two names alone is rejected, for new and for active patients. */
async function refusesHalf(role: string): Promise<void> {
  const { id } = await charts.created();
  const halves = [{ [`${role}_first_name`]: 'Half' }, { [`${role}_last_name`]: 'Half' }];
  const words = `${role}_first_name and ${role}_last_name must be used together`;
  await charts.rejects(400, words, [
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
  await charts.rejects(
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
