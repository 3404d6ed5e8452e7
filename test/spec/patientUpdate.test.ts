import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { linkPlainEmr } from '../harness/plainEmr.ts';
import { startSandbox, type TestSandbox } from '../harness/sandbox.ts';
import { type Chart, openChart } from '../journeys/journey.ts';
import { type Charted, type Charts, type Fields, openCharts, type Row } from './patientCharts.ts';
import { wholePatient } from './wholePatient.ts';

let world: TestSandbox;
let charts: Charts;
let clinic: Chart;
/** The same clinic through an EMR without what is restricted, and a patient there. */
let plain: { charts: Charts; id: string };
/** A patient with a chart, for what is refused. */
let someone: Charted;
const address = {
  address_street: '1 Old Street',
  address_line2: 'Unit 1',
  address_city: 'Oldton',
  address_state: 'NY',
  address_zip: '12999',
};
beforeAll(async () => {
  world = await startSandbox();
  charts = openCharts(world);
  clinic = await openChart(world.sandbox, world.api);
  const elsewhere = openCharts(world, await linkPlainEmr(world));
  plain = { charts: elsewhere, id: (await elsewhere.created()).id };
  someone = await charts.created({ ...address, phone: '518-555-0100', email: 'old@example.test' });
});
afterAll(() => world.close());
beforeEach(() => world.api.control('DELETE', '/control/faults'));

const refuses = (field: string, values: unknown[]) =>
  charts.refuses(
    400,
    new RegExp(field),
    values.map((value) => () => charts.patch(someone.id, { [field]: value })),
  );
/** These fields an EMR other than the restricted one does not take, whatever stands beside them. */
async function onlyRestricted(fields: Fields): Promise<void> {
  for (const [field, value] of Object.entries(fields)) {
    await charts.refuses(400, `Field '${field}' is only supported for Larkspur EMR.`, [
      () => plain.charts.patch(plain.id, { email: 'x@example.test', [field]: value }),
    ]);
  }
}
async function doctor(last_name: string): Promise<Row> {
  const { body } = await world.api.call('GET', `/v1/referring-providers?last_name=${last_name}`);
  return body.referring_providers[0];
}
const strings_only = [5, true, ['text'], { text: 'text' }];
const phone_forms = [
  '5185550101',
  '(518) 555-0101',
  '518-555-010',
  '518-555-01011',
  '1-518-555-0101',
  '',
  '518.555.0101',
];

test("PAU-01 Path `id` is the service's patient id; an MRN or EHR id in its place does not address the patient.", async () => {
  const { mrn, chart } = someone;
  await charts.refuses(
    404,
    /^Patient with ID '.*' not found\.$/,
    [mrn, chart.patientId, 'f'.repeat(32)].map((id) => () => charts.patch(id, { email: 'x@example.test' })),
  );
  expect(await charts.chart(mrn)).toStrictEqual(chart);
  const own = await charts.created();
  expect((await charts.updated(own, { email: 'by-id@example.test' })).email).toBe('by-id@example.test');
});

test('PAU-02 At least one data field must be provided: a request with none is rejected.', async () => {
  await charts.refuses(400, 'At least one field must be provided.', [
    () => charts.patch(someone.id, {}),
    () => charts.patch(someone.id, { save_previous_address: false }),
    () => charts.patch(someone.id, { save_previous_address: true }),
  ]);
});

test('PAU-03 Omitted fields stay unchanged.', async () => {
  const whole = await wholePatient(world, charts);
  const { id, mrn, chart } = await charts.created(whole.fields);
  const shown = await charts.listed(id);
  const after = await charts.updated({ id, mrn, chart }, { address_city: 'Newton' });
  expect(after).toStrictEqual({
    ...chart,
    address: { ...chart.address, city: 'Newton' },
    lastModified: expect.any(String),
  });
  expect(await charts.listed(id)).toStrictEqual({ ...shown, address_city: 'Newton', updated_at: expect.any(String) });
});

test('PAU-11 Active: `phone` (home phone) has the format `NNN-NNN-NNNN`; another form is refused.', async () => {
  const own = await charts.created();
  expect(await charts.updated(own, { phone: '518-555-0111' })).toMatchObject({
    homePhone: '518-555-0111',
    cellPhone: null,
  });
  await refuses('phone', [...phone_forms, 5185550101]);
});

test('PAU-12 Active: `cell_phone` has the format `NNN-NNN-NNNN`; another form is refused.', async () => {
  const own = await charts.created();
  expect(await charts.updated(own, { cell_phone: '518-555-0112' })).toMatchObject({
    homePhone: null,
    cellPhone: '518-555-0112',
  });
  await refuses('cell_phone', [...phone_forms, 5185550101]);
});

test('PAU-13 Active: `email` is a string.', async () => {
  const own = await charts.created();
  expect((await charts.updated(own, { email: 'new@example.test' })).email).toBe('new@example.test');
  await refuses('email', strings_only);
});

test('PAU-14 Active: `address_street` (line 1), `address_line2`, `address_city` are strings.', async () => {
  const own = await charts.created(address);
  const moved = { address_street: '2 New Street', address_line2: 'Unit 2', address_city: 'Newton' };
  expect((await charts.updated(own, moved)).address).toMatchObject({
    ...{ line1: '2 New Street', line2: 'Unit 2', city: 'Newton' },
  });
  for (const field of Object.keys(moved)) await refuses(field, strings_only);
});

test('PAU-15 Active: `address_state` is a two-letter state code; `DC` is accepted, an unknown code is refused.', async () => {
  const own = await charts.created(address);
  for (const state of ['DC', 'CA', 'AK']) {
    expect((await charts.updated(own, { address_state: state })).address.state).toBe(state);
  }
  await refuses('address_state', ['ZZ', 'XX', 'ON', 'D', 'DCC', 'District of Columbia', '', 11]);
});

test('PAU-16 Active: `address_zip` is `NNNNN` or `NNNNN-NNNN`; another form is refused.', async () => {
  const own = await charts.created(address);
  for (const zip of ['05001', '05001-0016']) {
    expect((await charts.updated(own, { address_zip: zip })).address.zip).toBe(zip);
  }
  await refuses('address_zip', [
    '050010016',
    '0500',
    '050011',
    '05001-',
    '05001-001',
    '05001-00161',
    '05001 0016',
    '',
    5,
  ]);
});

test('PAU-17 Active: `save_previous_address` is a boolean [R].', async () => {
  for (const save_previous_address of [true, false]) {
    const own = await charts.created(address);
    const after = await charts.updated(own, { address_city: 'Newton', save_previous_address });
    expect(after.address.city).toBe('Newton');
  }
  await charts.refuses(
    400,
    /save_previous_address/,
    ['true', 'false', 1, 0, 'yes'].map(
      (save_previous_address) => () => charts.patch(someone.id, { address_city: 'Newton', save_previous_address }),
    ),
  );
  await onlyRestricted({ save_previous_address: true });
});

test('PAU-18 Active: by default (`save_previous_address` absent or true) the current address is saved as address history before the new one applies [R].', async () => {
  for (const how of [{}, { save_previous_address: true }]) {
    const own = await charts.created(address);
    expect(await clinic.addressHistory(own.chart.patientId)).toStrictEqual([]);
    const after = await charts.updated(own, { address_street: '18 New Street', address_zip: '12998', ...how });
    expect(after.address).toMatchObject({ line1: '18 New Street', zip: '12998' });
    expect(await clinic.addressHistory(own.chart.patientId)).toStrictEqual([own.chart.address]);
  }
});

test('PAU-19 Active: `save_previous_address: false` overwrites the address without history [R].', async () => {
  const own = await charts.created(address);
  const after = await charts.updated(own, { address_street: '19 New Street', save_previous_address: false });
  expect(after.address).toStrictEqual({ ...own.chart.address, line1: '19 New Street' });
  expect(await clinic.addressHistory(own.chart.patientId)).toStrictEqual([]);
  await onlyRestricted({ save_previous_address: false });
});

/** The two names of a doctor: only together, and only where the EMR is the restricted one. */
async function checkNames(role: 'referring_provider' | 'pcp', column: 'referring' | 'pcp'): Promise<void> {
  const [first, last] = [`${role}_first_name`, `${role}_last_name`];
  const own = await charts.created();
  const after = await charts.updated(own, { [first]: 'Umber', [last]: 'Consultson' });
  const { ehr_id } = await doctor('Consultson');
  expect(after).toMatchObject({ [`${column}Id`]: ehr_id, [`${column}LastName`]: 'Consultson' });
  await charts.refuses(400, `${first} and ${last} must be used together`, [
    () => charts.patch(own.id, { [first]: 'Umber' }),
    () => charts.patch(own.id, { [last]: 'Consultson' }),
    () => charts.patch(own.id, { [first]: 'Umber', [last]: '', phone: '518-555-0101' }),
  ]);
  await onlyRestricted({ [first]: 'Umber', [last]: 'Consultson' });
}

test('PAU-20 Active: `referring_provider_first_name` and `referring_provider_last_name` must be used together [R].', async () => {
  await checkNames('referring_provider', 'referring');
});

test('PAU-22 Active: `pcp_first_name` and `pcp_last_name` must be used together [R].', async () => {
  await checkNames('pcp', 'pcp');
});

/** A doctor's id as the list of referring providers gives it, and nothing else that names one. */
async function checkId(field: 'referring_provider_id' | 'pcp_id', column: 'referringId' | 'pcpId'): Promise<void> {
  const known = await doctor('Lettersby');
  expect(known.id).toMatch(/^[0-9a-f]{32}$/);
  const own = await charts.created();
  expect((await charts.updated(own, { [field]: known.id }))[column]).toBe(known.ehr_id);
  await charts.refuses(
    404,
    /not found/,
    ['f'.repeat(32), known.ehr_id, known.npi].map((id) => () => charts.patch(own.id, { [field]: id })),
  );
  await onlyRestricted({ [field]: known.id });
}

test('PAU-21 Active: `referring_provider_id` is a UUID without hyphens from `GET /v1/referring-providers` [R].', async () => {
  await checkId('referring_provider_id', 'referringId');
});

test('PAU-23 Active: `pcp_id` is a UUID from `GET /v1/referring-providers` [R].', async () => {
  await checkId('pcp_id', 'pcpId');
});

test("PAU-24 Active: `referred_to_provider_id` is the rendering provider's `ehr_id` from `GET /v1/providers` [R].", async () => {
  const { providers } = (await world.api.call('GET', '/v1/providers')).body;
  const own = await charts.created();
  const after = await charts.updated(own, { referred_to_provider_id: providers[3].ehr_id });
  expect(after.renderingProviderId).toBe(providers[3].ehr_id);
  await charts.refuses(404, /^Provider with EMR ID '.*' not found\.$/, [
    () => charts.patch(own.id, { referred_to_provider_id: providers[3].id }),
    () => charts.patch(own.id, { referred_to_provider_id: '99999' }),
  ]);
  await onlyRestricted({ referred_to_provider_id: providers[3].ehr_id });
});

test('PAU-25 Provider updates are all-or-nothing: an unresolved provider name fails the whole request and no other field of it (for example phone) is applied.', async () => {
  const own = await charts.created({ phone: '518-555-0100' });
  const shown = await charts.listed(own.id);
  const good = { referring_provider_first_name: 'Umber', referring_provider_last_name: 'Consultson' };
  await charts.refuses(404, /No referring provider is named 'Nobody Known'/, [
    () => charts.patch(own.id, { phone: '518-555-0125', pcp_first_name: 'Nobody', pcp_last_name: 'Known' }),
    () => charts.patch(own.id, { ...good, pcp_first_name: 'Nobody', pcp_last_name: 'Known' }),
    () =>
      charts.patch(own.id, {
        email: 'x@example.test',
        referring_provider_first_name: 'Nobody',
        referring_provider_last_name: 'Known',
      }),
  ]);
  expect(await charts.chart(own.mrn)).toStrictEqual(own.chart);
  expect(await charts.listed(own.id)).toStrictEqual(shown);
});

test('PAU-26 Ids resolve more reliably than names: an id resolves also where the name is ambiguous.', async () => {
  const { body } = await world.api.call('GET', '/v1/referring-providers?last_name=Twinname');
  const twins: Row[] = body.referring_providers;
  expect(twins.map(({ first_name }) => first_name)).toStrictEqual(['Ari', 'Ari']);
  const own = await charts.created();
  const names = (role: string) => ({ [`${role}_first_name`]: 'Ari', [`${role}_last_name`]: 'Twinname' });
  await charts.refuses(404, /Several referring providers are called 'Ari Twinname'/, [
    () => charts.patch(own.id, names('referring_provider')),
    () => charts.patch(own.id, names('pcp')),
  ]);
  for (const twin of twins) {
    const after = await charts.updated(own, { referring_provider_id: twin.id, pcp_id: twin.id });
    expect(after).toMatchObject({ referringId: twin.ehr_id, pcpId: twin.ehr_id });
  }
});

test("DEC-155 PATCH on an `active` patient with a field outside the specification's list is 400 `Field '<field>' cannot be changed on an active patient.`.", async () => {
  const { fields } = await wholePatient(world, charts);
  const listed = ['phone', 'cell_phone', 'email', ...Object.keys(address), 'referred_to_provider_id'];
  for (const role of ['referring_provider', 'pcp'])
    listed.push(`${role}_id`, `${role}_first_name`, `${role}_last_name`);
  const outside = Object.keys(fields).filter((field) => !listed.includes(field));
  expect(outside).toHaveLength(Object.keys(fields).length - listed.length);
  for (const field of outside) {
    await charts.refuses(400, `Field '${field}' cannot be changed on an active patient.`, [
      () => charts.patch(someone.id, { phone: '518-555-0155', [field]: fields[field] }),
    ]);
  }
});
