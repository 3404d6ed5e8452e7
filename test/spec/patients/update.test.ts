import { beforeAll, beforeEach, expect, test } from 'vitest';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { type Chart, signInToLarkspur } from '../../journeys/support.ts';
import { type Charted, type Charts, createCharts, type Fields, type Row } from './charts.ts';
import { completePatient } from './completePatient.ts';

let fixture: TestSandbox;
let charts: Charts;
let clinic: Chart;
/** A patient of an EMR that does not support the restricted fields. */
let fhir: { charts: Charts; id: string };
/** An active patient, for requests that are rejected. */
let someone: Charted;
const address = {
  address_street: '1 Old Street',
  address_line2: 'Unit 1',
  address_city: 'Oldton',
  address_state: 'NY',
  address_zip: '12999',
};
beforeAll(async () => {
  fixture = await sharedSandbox();
  charts = createCharts(fixture);
  clinic = await signInToLarkspur(fixture.sandbox, fixture.api);
  const account = await fhirAccount(fixture);
  const [patient] = (await account.api.call('GET', `/v1/patients?mrn=${account.mrn}`)).body.patients;
  fhir = { charts: createCharts(fixture, account.api), id: patient.id };
  someone = await charts.created({ ...address, phone: '518-555-0100', email: 'old@example.test' });
});
beforeEach(() => fixture.api.control('DELETE', '/control/faults'));

const refuses = (field: string, values: unknown[]) =>
  charts.rejects(
    400,
    new RegExp(field),
    values.map((value) => () => charts.patch(someone.id, { [field]: value })),
  );
/** Another EMR rejects each of these fields, also along with fields that it supports. */
async function onlyRestricted(fields: Fields): Promise<void> {
  for (const [field, value] of Object.entries(fields)) {
    await charts.rejects(400, `Field '${field}' is only supported for Larkspur EMR.`, [
      () => fhir.charts.patch(fhir.id, { email: 'x@example.test', [field]: value }),
    ]);
  }
}
async function doctor(last_name: string): Promise<Row> {
  const { body } = await fixture.api.call('GET', `/v1/referring-providers?last_name=${last_name}`);
  return body.referring_providers[0];
}
const strings_only = [5, true, ['text'], { text: 'text' }];
const phone_forms = ['5185550101', '(518) 555-0101', '518-555-010', '518-555-01011', '1-518-555-0101', '518.555.0101'];

test(row('PAU-01'), async () => {
  const { mrn, chart } = someone;
  await charts.rejects(
    404,
    /^Patient with ID '.*' not found\.$/,
    [mrn, chart.patientId, 'f'.repeat(32)].map((id) => () => charts.patch(id, { email: 'x@example.test' })),
  );
  expect(await charts.chart(mrn)).toStrictEqual(chart);
  const own = await charts.created();
  expect((await charts.updated(own, { email: 'by-id@example.test' })).email).toBe('by-id@example.test');
});

test(row('PAU-02'), async () => {
  await charts.rejects(400, 'At least one field must be provided.', [
    () => charts.patch(someone.id, {}),
    () => charts.patch(someone.id, { save_previous_address: false }),
    () => charts.patch(someone.id, { save_previous_address: true }),
  ]);
});

test(row('PAU-03'), async () => {
  const complete = await completePatient(fixture, charts);
  const { id, mrn, chart } = await charts.created(complete.fields);
  const shown = await charts.listed(id);
  const after = await charts.updated({ id, mrn, chart }, { address_city: 'Newton' });
  expect(after).toStrictEqual({
    ...chart,
    address: { ...chart.address, city: 'Newton' },
    lastModified: expect.any(String),
  });
  expect(await charts.listed(id)).toStrictEqual({ ...shown, address_city: 'Newton', updated_at: expect.any(String) });
});

test(row('PAU-11'), async () => {
  const own = await charts.created();
  expect(await charts.updated(own, { phone: '518-555-0111' })).toMatchObject({
    homePhone: '518-555-0111',
    cellPhone: null,
  });
  await refuses('phone', [...phone_forms, 5185550101]);
});

test(row('PAU-12'), async () => {
  const own = await charts.created();
  expect(await charts.updated(own, { cell_phone: '518-555-0112' })).toMatchObject({
    homePhone: null,
    cellPhone: '518-555-0112',
  });
  await refuses('cell_phone', [...phone_forms, 5185550101]);
});

test(row('PAU-13'), async () => {
  const own = await charts.created();
  expect((await charts.updated(own, { email: 'new@example.test' })).email).toBe('new@example.test');
  await refuses('email', strings_only);
});

test(row('PAU-14'), async () => {
  const own = await charts.created(address);
  const moved = { address_street: '2 New Street', address_line2: 'Unit 2', address_city: 'Newton' };
  expect((await charts.updated(own, moved)).address).toMatchObject({
    ...{ line1: '2 New Street', line2: 'Unit 2', city: 'Newton' },
  });
  for (const field of Object.keys(moved)) await refuses(field, strings_only);
});

test(row('PAU-15'), async () => {
  const own = await charts.created(address);
  for (const state of ['DC', 'CA', 'AK']) {
    expect((await charts.updated(own, { address_state: state })).address.state).toBe(state);
  }
  await refuses('address_state', ['ZZ', 'XX', 'ON', 'D', 'DCC', 'District of Columbia', 11]);
});

test(row('PAU-16'), async () => {
  const own = await charts.created(address);
  for (const zip of ['05001', '05001-0016']) {
    expect((await charts.updated(own, { address_zip: zip })).address.zip).toBe(zip);
  }
  await refuses('address_zip', ['050010016', '0500', '050011', '05001-', '05001-001', '05001-00161', '05001 0016', 5]);
});

test(row('PAU-17'), async () => {
  for (const save_previous_address of [true, false]) {
    const own = await charts.created(address);
    const after = await charts.updated(own, { address_city: 'Newton', save_previous_address });
    expect(after.address.city).toBe('Newton');
  }
  await charts.rejects(
    400,
    /save_previous_address/,
    ['true', 'false', 1, 0, 'yes'].map(
      (save_previous_address) => () => charts.patch(someone.id, { address_city: 'Newton', save_previous_address }),
    ),
  );
  await onlyRestricted({ save_previous_address: true });
});

test(row('PAU-18'), async () => {
  for (const how of [{}, { save_previous_address: true }]) {
    const own = await charts.created(address);
    expect(await clinic.addressHistory(own.chart.patientId)).toStrictEqual([]);
    const after = await charts.updated(own, { address_street: '18 New Street', address_zip: '12998', ...how });
    expect(after.address).toMatchObject({ line1: '18 New Street', zip: '12998' });
    expect(await clinic.addressHistory(own.chart.patientId)).toStrictEqual([own.chart.address]);
  }
});

test(row('PAU-19'), async () => {
  const own = await charts.created(address);
  const after = await charts.updated(own, { address_street: '19 New Street', save_previous_address: false });
  expect(after.address).toStrictEqual({ ...own.chart.address, line1: '19 New Street' });
  expect(await clinic.addressHistory(own.chart.patientId)).toStrictEqual([]);
  await onlyRestricted({ save_previous_address: false });
});

/** A doctor's two names are accepted together only, and for Larkspur only. */
async function checkNames(role: 'referring_provider' | 'pcp', column: 'referring' | 'pcp'): Promise<void> {
  const [first, last] = [`${role}_first_name`, `${role}_last_name`];
  const own = await charts.created();
  const after = await charts.updated(own, { [first]: 'Umber', [last]: 'Consultson' });
  const { ehr_id } = await doctor('Consultson');
  expect(after).toMatchObject({ [`${column}Id`]: ehr_id, [`${column}LastName`]: 'Consultson' });
  await charts.rejects(400, `${first} and ${last} must be used together`, [
    () => charts.patch(own.id, { [first]: 'Umber' }),
    () => charts.patch(own.id, { [last]: 'Consultson' }),
    () => charts.patch(own.id, { [first]: 'Umber', [last]: '', phone: '518-555-0101' }),
  ]);
  await onlyRestricted({ [first]: 'Umber', [last]: 'Consultson' });
}

test(row('PAU-20'), async () => {
  await checkNames('referring_provider', 'referring');
});

test(row('PAU-22'), async () => {
  await checkNames('pcp', 'pcp');
});

/** Only the id from the list of referring providers is accepted. */
async function checkId(field: 'referring_provider_id' | 'pcp_id', column: 'referringId' | 'pcpId'): Promise<void> {
  const known = await doctor('Lettersby');
  expect(known.id).toMatch(/^[0-9a-f]{32}$/);
  const own = await charts.created();
  expect((await charts.updated(own, { [field]: known.id }))[column]).toBe(known.ehr_id);
  await charts.rejects(
    404,
    /not found/,
    ['f'.repeat(32), known.ehr_id, known.npi].map((id) => () => charts.patch(own.id, { [field]: id })),
  );
  await onlyRestricted({ [field]: known.id });
}

test(row('PAU-21'), async () => {
  await checkId('referring_provider_id', 'referringId');
});

test(row('PAU-23'), async () => {
  await checkId('pcp_id', 'pcpId');
});

test(row('PAU-24'), async () => {
  const { providers } = (await fixture.api.call('GET', '/v1/providers')).body;
  const own = await charts.created();
  const after = await charts.updated(own, { referred_to_provider_id: providers[3].ehr_id });
  expect(after.renderingProviderId).toBe(providers[3].ehr_id);
  await charts.rejects(404, /^Provider with EMR ID '.*' not found\.$/, [
    () => charts.patch(own.id, { referred_to_provider_id: providers[3].id }),
    () => charts.patch(own.id, { referred_to_provider_id: '99999' }),
  ]);
  await onlyRestricted({ referred_to_provider_id: providers[3].ehr_id });
});

test(row('PAU-25'), async () => {
  const own = await charts.created({ phone: '518-555-0100' });
  const shown = await charts.listed(own.id);
  const good = { referring_provider_first_name: 'Umber', referring_provider_last_name: 'Consultson' };
  await charts.rejects(404, /No referring provider is named 'Nobody Known'/, [
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

test(row('PAU-26'), async () => {
  const { body } = await fixture.api.call('GET', '/v1/referring-providers?last_name=Twinname');
  const twins: Row[] = body.referring_providers;
  expect(twins.map(({ first_name }) => first_name)).toStrictEqual(['Ari', 'Ari']);
  const own = await charts.created();
  const names = (role: string) => ({ [`${role}_first_name`]: 'Ari', [`${role}_last_name`]: 'Twinname' });
  await charts.rejects(404, /Several referring providers are named 'Ari Twinname'/, [
    () => charts.patch(own.id, names('referring_provider')),
    () => charts.patch(own.id, names('pcp')),
  ]);
  for (const twin of twins) {
    const after = await charts.updated(own, { referring_provider_id: twin.id, pcp_id: twin.id });
    expect(after).toMatchObject({ referringId: twin.ehr_id, pcpId: twin.ehr_id });
  }
});

test(row('DEC-155'), async () => {
  const { fields } = await completePatient(fixture, charts);
  const listed = ['phone', 'cell_phone', 'email', ...Object.keys(address), 'referred_to_provider_id'];
  for (const role of ['referring_provider', 'pcp'])
    listed.push(`${role}_id`, `${role}_first_name`, `${role}_last_name`);
  const outside = Object.keys(fields).filter((field) => !listed.includes(field));
  expect(outside).toHaveLength(Object.keys(fields).length - listed.length);
  for (const field of outside) {
    await charts.rejects(400, `Field '${field}' cannot be changed on an active patient.`, [
      () => charts.patch(someone.id, { phone: '518-555-0155', [field]: fields[field] }),
    ]);
  }
});
