import { beforeAll, expect, test } from 'vitest';
import { hasNpiCheckDigit } from '../../../src/model/requests/referrals.ts';
import { fhirAccount } from '../../harness/fhirAccount.ts';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { setFault } from '../../journeys/support.ts';
import { complete } from '../support/completedJobs.ts';
import { expectRejected, not_strings } from '../support/expectErrors.ts';
import { withJobsPaused } from '../support/pauseJobs.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const doctor = (more: object = {}) => ({ first_name: 'Ochre', last_name: 'Colleagueson', npi: newNpi(), ...more });
const send = (body: object) => fixture.api.call('POST', '/v1/referring-providers', { body });
const createDoctor = (more: object = {}) => complete(fixture, '/v1/referring-providers', doctor(more));

let count = 0;
/** An NPI that was not used before. */
function newNpi(): string {
  const digits = `1${String(5_550_000 + ++count).padStart(8, '0')}`;
  return Array.from({ length: 10 }, (_, last) => `${digits}${last}`).find(hasNpiCheckDigit) ?? '';
}

test(row('RFP-01'), async () => {
  for (const field of ['first_name', 'last_name', 'npi']) {
    for (const absent of [undefined, null, ' ']) {
      const rejection = { message: `Missing required field: ${field}`, field };
      await expectRejected(fixture, () => send(doctor({ [field]: absent })), rejection);
    }
    for (const value of not_strings) {
      const rejection = { message: new RegExp(`^${field} `), field };
      await expectRejected(fixture, () => send(doctor({ [field]: value })), rejection);
    }
  }
  const unknown = { message: 'Unexpected fields in request body: speciality', field: 'speciality' };
  await expectRejected(fixture, () => send(doctor({ speciality: 'Neurology' })), unknown);
});

test(row('RFP-02'), async () => {
  for (const npi of ['123456789', '12345678931', '123456789A', '１２３４５６７８９３'])
    await expectRejected(fixture, () => send(doctor({ npi })), { message: 'npi must be 10 digits', field: 'npi' });
  for (const npi of ['1234567890', '1234567892', '0000000000'])
    await expectRejected(fixture, () => send(doctor({ npi })), {
      message: 'npi has a wrong check digit',
      field: 'npi',
    });
  expect(hasNpiCheckDigit('1234567893')).toBe(true);
});

test(row('RFP-03'), async () => {
  for (const field of ['phone', 'fax']) {
    for (const value of ['5185550141', '(518) 555-0141', '518-555-014', '+1-518-555-0141']) {
      const rejection = { message: `${field} must be a phone number in the form NNN-NNN-NNNN`, field };
      await expectRejected(fixture, () => send(doctor({ [field]: value })), rejection);
    }
  }
  for (const [field, value] of Object.entries({ email: 'nobody', state: 'New York', zip_code: '1299' })) {
    const rejection = { message: new RegExp(`^${field} must be`), field };
    await expectRejected(fixture, () => send(doctor({ [field]: value })), rejection);
  }
});

test(row('RFP-04'), async () => {
  const npi = newNpi();
  const { accepted, event } = await createDoctor({
    ...{ npi, phone: '518-555-0141', fax: '518-555-0142', email: 'umber@example.org' },
    ...{ address: '100 Main Street', city: 'Exampleton', state: 'ny', zip_code: '12999' },
  });
  expect(accepted).toStrictEqual({
    success: true,
    message: expect.stringContaining('webhook event'),
    referring_provider_id: expect.stringMatching(/^[0-9a-f]{32}$/),
    job_id: expect.any(Number),
  });
  expect(event.event_type).toBe('referring_provider.created');
  expect(event.data).toStrictEqual({
    referring_provider_id: accepted.referring_provider_id,
    ...{ first_name: 'Ochre', last_name: 'Colleagueson', npi, ehr_id: expect.any(String) },
  });
  const { body } = await fixture.api.call('GET', `/v1/referring-providers?npi=${npi}`);
  expect(body.referring_providers).toMatchObject([
    {
      ...{ id: accepted.referring_provider_id, ehr_id: event.data.ehr_id, status: 'active' },
      ...{ phone: '518-555-0141', fax: '518-555-0142', email: 'umber@example.org' },
      ...{ address_street: '100 Main Street', address_city: 'Exampleton', address_state: 'NY', address_zip: '12999' },
    },
  ]);
  await fixture.api.sync();
  const synced = await fixture.api.call('GET', `/v1/referring-providers?npi=${npi}`);
  expect(synced.body.referring_providers).toMatchObject([{ id: accepted.referring_provider_id }]);
});

test(row('RFP-05'), async () => {
  const npi = newNpi();
  await createDoctor({ npi });
  const duplicate = await createDoctor({ npi });
  await setFault(fixture.api, 'create_referring_provider', 'refuse', { reason: 'The directory is closed.' });
  const refused = await createDoctor();
  for (const [{ accepted, event }, code] of [
    [duplicate, 'duplicate_record'],
    [refused, 'emr_refused'],
  ] as const) {
    expect(event.event_type).toBe('referring_provider.failed');
    expect(event.data).toMatchObject({
      ...{ referring_provider_id: accepted.referring_provider_id, first_name: 'Ochre', last_name: 'Colleagueson' },
      reasons: [{ code, description: event.data.failure_reason }],
    });
  }
  expect(duplicate.event.data.failure_reason).toContain('already exists');
  const { body } = await fixture.api.call('GET', `/v1/referring-providers?npi=${npi}`);
  expect(body.referring_providers).toHaveLength(1);
});

test('a referring provider is created once if the response is lost', async () => {
  await setFault(fixture.api, 'create_referring_provider', 'lose_answer');
  const { accepted, event } = await createDoctor();
  expect(event.event_type).toBe('referring_provider.created');
  const entries = await fixture.api.ledger();
  const applied = entries.filter((each) => each.applied && each.marker?.startsWith(accepted.referring_provider_id));
  expect(applied).toHaveLength(1);
});

test('a referring provider is a practitioner on a FHIR server', async () => {
  const { api, server } = await fhirAccount(fixture);
  const npi = newNpi();
  const { status, body } = await api.call('POST', '/v1/referring-providers', {
    body: doctor({ npi, phone: '518-555-0141', city: 'Exampleton' }),
  });
  expect(status, JSON.stringify(body)).toBe(200);
  const event = await api.untilEvent(body.job_id);
  const stored = (await server.resources('Practitioner')).find(({ id }) => id === event.data.ehr_id);
  expect(stored).toMatchObject({
    active: true,
    identifier: expect.arrayContaining([{ system: 'http://hl7.org/fhir/sid/us-npi', value: npi }]),
    name: [{ family: 'Colleagueson', given: ['Ochre'] }],
    telecom: [{ system: 'phone', value: '518-555-0141' }],
    address: [{ city: 'Exampleton' }],
  });
  const listed = await api.call('GET', `/v1/referring-providers?npi=${npi}`);
  expect(listed.body.referring_providers).toMatchObject([{ id: body.referring_provider_id }]);
});

test(row('RFP-06'), async () => {
  const { api } = await fhirAccount(fixture);
  for (const caller of [fixture.api, api]) {
    const body = doctor({ npi: newNpi() });
    const sent = await Promise.all([1, 2, 3].map(() => caller.call('POST', '/v1/referring-providers', { body })));
    const events = await Promise.all(sent.map(({ body: { job_id } }) => caller.untilEvent(job_id, 30_000)));
    const created = events.filter(({ event_type }) => event_type === 'referring_provider.created');
    expect(created, JSON.stringify(events)).toHaveLength(1);
    const reasons = events.flatMap(({ data }) => data.reasons ?? []);
    expect(reasons.map(({ code }) => code)).toStrictEqual(['duplicate_record', 'duplicate_record']);
    const { body: list } = await caller.call('GET', `/v1/referring-providers?npi=${body.npi}`);
    expect(list.referring_providers).toMatchObject([{ id: created[0].data.referring_provider_id }]);
  }
});

test(row('RFP-07'), async () => {
  const npi = newNpi();
  const dryRun = () => fixture.api.call('POST', '/v1/referring-providers?dry_run=true', { body: doctor({ npi }) });
  const resource = 'referring_provider';
  expect((await dryRun()).body.would).toStrictEqual([{ action: 'create', resource, reasons: [] }]);
  const canceled = await withJobsPaused(fixture, async () => {
    const { body } = await send(doctor({ npi, reference: 'Fax 12' }));
    const { status } = await fixture.api.call('POST', `/v1/jobs/${body.job_id}/cancel`, { body: {} });
    expect(status).toBe(200);
    return body;
  });
  expect(await fixture.api.untilEvent(canceled.job_id)).toMatchObject({
    ...{ event_type: 'referring_provider.failed', reference: 'Fax 12' },
    data: { reasons: [{ code: 'cancelled' }] },
  });
  await createDoctor({ npi });
  expect((await dryRun()).body.would).toMatchObject([{ action: 'fail', reasons: [{ code: 'duplicate_record' }] }]);
});
