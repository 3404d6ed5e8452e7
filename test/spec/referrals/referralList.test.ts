import { beforeAll, expect, test } from 'vitest';
import { row } from '../../harness/row.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';
import { sharedSandbox } from '../../harness/sharedSandbox.ts';
import { patient, signInToLarkspur } from '../../journeys/support.ts';
import { complete } from '../support/completedJobs.ts';
import { addClinicRow, changeClinicRow, clinicRows, isoDay, type Row } from '../support/emrRecords.ts';
import { expectRejected } from '../support/expectErrors.ts';
import { attach, mrn, patient_ehr_id, referralBody } from './referralRequests.ts';

let fixture: TestSandbox;
beforeAll(async () => {
  fixture = await sharedSandbox();
});

const years = 'start_date=2020-01-01&end_date=2099-12-31';
const get = (query: string) => fixture.api.call('GET', `/v1/referrals?${query}`);
const list = async (query: string): Promise<Row[]> => {
  const { status, body } = await get(query);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.referrals;
};
const clinic = () => clinicRows(fixture, 'referrals');
const byEhrId = (rows: Row[]) => rows.map(({ ehr_id }) => ehr_id).sort();

test(row('RFL-01'), async () => {
  const rows = await clinic();
  expect(rows.length).toBeGreaterThan(10);
  const all = await list(years);
  expect(byEhrId(all)).toStrictEqual(rows.map(({ referralId }) => referralId).sort());
  const days = all.map(({ referral_date }) => referral_date);
  expect(days).toStrictEqual(days.toSorted().toReversed());
  const [first, last] = [days.at(-3), days.at(2)];
  const within = days.filter((day) => day >= first && day <= last);
  expect(await list(`start_date=${first}&end_date=${last}`)).toHaveLength(within.length);
  expect(within.length).toBeLessThan(days.length);
  for (const field of ['start_date', 'end_date']) {
    const other = field === 'start_date' ? 'end_date=2026-01-01' : 'start_date=2026-01-01';
    await expectRejected(fixture, () => get(other), { message: `Missing required field: ${field}`, field });
  }
  const reversed = { message: 'end_date must not be before start_date', field: 'end_date' };
  await expectRejected(fixture, () => get('start_date=2026-02-01&end_date=2026-01-01'), reversed);
});

test(row('RFL-02'), async () => {
  const seeded = (await clinic()).find(({ referralId }) => referralId === '750001');
  const [chart] = await clinicRows(fixture, 'patients', { patientId: seeded.patientId });
  const [provider] = await clinicRows(fixture, 'providers', { providerId: seeded.toProviderId });
  const [doctor] = await clinicRows(fixture, 'referring-providers', { referringId: seeded.fromProviderId });
  expect(await list(`${years}&ehr_id=750001`)).toStrictEqual([
    {
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      ...{ ehr_id: '750001', patient_ehr_id: seeded.patientId, patient_mrn: chart.mrn },
      ...{ patient_first_name: chart.firstName, patient_last_name: chart.lastName },
      patient_dob: isoDay(chart.birthDate),
      from_provider_ehr_id: seeded.fromProviderId,
      from_provider_name: `${doctor.firstName} ${doctor.lastName}`,
      ...{ to_provider_ehr_id: seeded.toProviderId, to_provider_name: provider.displayName },
      ...{ priority: 'routine', urgency: seeded.urgency, reason: seeded.reason },
      ...{ diagnosis_codes: seeded.icdCodes, document_ids: [], status: seeded.statusCode },
      referral_date: isoDay(seeded.referralDate),
      last_activity_at: new Date(seeded.lastActivityAt).toISOString(),
      synced_at: expect.stringMatching(/^\d{4}-.*Z$/),
    },
  ]);
});

test(row('RFL-03'), async () => {
  const rows = await clinic();
  const where = (matches: (each: Row) => boolean) =>
    rows
      .filter(matches)
      .map(({ referralId }) => referralId)
      .sort();
  const { mrn: first_mrn, ehr_id } = patient(1);
  for (const [query, matches] of [
    [`patient_mrn=${first_mrn}`, (each) => each.patientId === ehr_id],
    ['status=SCHEDULED', (each) => each.statusCode === 'SCHEDULED'],
    ['priority=stat', (each) => each.priorityCode === 'S'],
    ['direction=incoming', (each) => each.direction === 'I'],
    ['direction=outgoing&priority=urgent', (each) => each.direction === 'O' && each.priorityCode === 'U'],
    ['ehr_id=750002', (each) => each.referralId === '750002'],
  ] as [string, (each: Row) => boolean][]) {
    const expected = where(matches);
    expect(expected.length, query).toBeGreaterThan(0);
    expect(byEhrId(await list(`${years}&${query}`)), query).toStrictEqual(expected);
  }
  for (const query of ['patient_mrn=LK999999', 'ehr_id=1', 'status=Unknown']) {
    expect(await list(`${years}&${query}`), query).toStrictEqual([]);
  }
  for (const field of ['priority', 'direction']) {
    const message = new RegExp(`^${field} must be one of`);
    await expectRejected(fixture, () => get(`${years}&${field}=other`), { message, field });
  }
});

test(row('RFL-04'), async () => {
  const { body } = await get(years);
  expect(body.pagination).toMatchObject({ page: 1, current_page: 1, page_size: 100, total_pages: 1 });
  expect(body.pagination.total_count).toBe(body.referrals.length);
  await expectRejected(fixture, () => get(`${years}&page_size=101`), { message: /page_size/, field: 'page_size' });
  const { accepted } = await complete(fixture, '/v1/referrals', referralBody());
  await addClinicRow(fixture, 'referrals', {
    ...{ patientId: patient_ehr_id, direction: 'O', fromProviderId: '501', reason: 'Added by staff' },
    referralDate: '01/02/2021',
  });
  await fixture.api.sync();
  const sorted = await list(`${years}&sort=created_at`);
  expect(sorted.at(-2).id).toBe(accepted.referral_id);
  expect(sorted.at(-1)).toMatchObject({ reason: 'Added by staff', referral_date: '2021-01-02' });
  const pages = await Promise.all([1, 2].map((page) => list(`${years}&sort=created_at&page_size=10&page=${page}`)));
  expect(pages.flat().map(({ id }) => id)).toStrictEqual(sorted.slice(0, 20).map(({ id }) => id));
  const message = /^sort must be one of/;
  await expectRejected(fixture, () => get(`${years}&sort=status`), { message, field: 'sort' });
  const combined = { message: 'sort and cursor cannot be combined', field: 'sort' };
  await expectRejected(fixture, () => get(`${years}&sort=created_at&cursor=`), combined);
});

test(row('RFL-05'), async () => {
  const expected = (await list(years)).map(({ id }) => id).sort();
  const walked: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { body } = await get(`${years}&page_size=7&cursor=${encodeURIComponent(cursor)}`);
    walked.push(...body.referrals.map(({ id }: Row) => id));
    cursor = body.pagination.next_cursor;
  }
  expect(walked).toStrictEqual(expected);
  await changeClinicRow(fixture, 'referrals', '750002', { statusCode: 'CLOSED' });
  await fixture.api.sync();
  expect(await list(`${years}&ehr_id=750002`)).toMatchObject([{ status: 'CLOSED' }]);
});

test(row('RFL-21'), async () => {
  const documents = [attach('letter.pdf')];
  const { accepted, event } = await complete(fixture, '/v1/referrals', referralBody({ documents }));
  const { emr_referral_id, document_ids } = event.data;
  const chart = await signInToLarkspur(fixture.sandbox, fixture.api);
  const path = `/referrals/${emr_referral_id}`;
  for (const page of [await chart.page('/referrals'), await chart.screen(patient_ehr_id)]) expect(page).toContain(path);
  const shown = await chart.page(path);
  for (const text of ['Evaluation of recurring headaches', 'G44.209', 'letter.pdf', 'Urgent', 'Incoming']) {
    expect(shown).toContain(text);
  }
  expect(shown).toContain(`/patients/${patient_ehr_id}/documents/${document_ids[0]}`);
  expect(await chart.page('/referrals?status=COMPLETED')).not.toContain(`"${path}"`);
  const [, form_token] = /name="formToken" value="([^"]+)"/.exec(shown) ?? [];
  for (const [statusCode, status] of [
    ['LOST', 422],
    ['COMPLETED', 303],
  ] as const) {
    expect(await chart.submit(path, { formToken: form_token ?? '', statusCode }), statusCode).toBe(status);
  }
  expect(await chart.page(path)).toContain('<dd>Completed</dd>');
  await fixture.api.sync();
  expect((await list(`${years}&patient_mrn=${mrn}`)).find(({ id }) => id === accepted.referral_id)).toMatchObject({
    status: 'COMPLETED',
  });
});
