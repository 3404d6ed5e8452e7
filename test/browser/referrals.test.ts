import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessibilityViolations } from '../harness/browser.ts';
import { attach, mrn, patient_ehr_id, referralBody } from '../spec/referrals/referralRequests.ts';
import { type DashboardFixture, expectAccessible, startDashboard } from './dashboard/fixture.ts';

let fixture: DashboardFixture;
let emr_referral_id: string;
let job_id: number;
beforeAll(async () => {
  fixture = await startDashboard({ small: false });
  const { api } = fixture.product;
  const { body } = await api.call('POST', '/v1/referrals', {
    body: referralBody({ documents: [attach('letter.pdf'), attach('results.pdf')] }),
  });
  job_id = body.job_id;
  emr_referral_id = (await api.untilEvent(job_id)).data.emr_referral_id;
});
afterAll(() => fixture?.close());

test('the dashboard lists referrals, and shows one', async () => {
  const [organization] = await fixture.product.owner<{ id: string }[]>`SELECT id FROM organizations`;
  const page = await fixture.open(`/{client}/records/${organization?.id}/referrals`);
  const table = page.getByRole('table', { name: 'Referrals' });
  await table.getByText('750001', { exact: true }).waitFor();
  await expectAccessible(page, { within: 'main' });
  await page.getByLabel('Patient MRN').fill(mrn);
  await page.keyboard.press('Enter');
  await expect.poll(() => table.getByRole('row').count()).toBe(2);
  await table.getByText(emr_referral_id).click();
  await page.getByRole('heading', { name: `Referral ${emr_referral_id}` }).waitFor();
  await page
    .getByRole('region', { name: 'Details', exact: true })
    .getByText('Evaluation of recurring headaches')
    .waitFor();
  await expectAccessible(page, { within: 'main' });
  const job = await fixture.open(`/{client}/jobs/${job_id}`);
  await job.getByText(`Create referral: saved, EMR record ${emr_referral_id}.`).waitFor();
  await job.getByText(/^Add referral document 2: saved/).waitFor();
  expect(fixture.consoleErrors(page)).toStrictEqual([]);
});

test('staff of the practice see the referral in Larkspur, and change its status', async () => {
  const { sandbox, api } = fixture.product;
  const page = await fixture.browser.newPage();
  const [person] = sandbox.larkspur.staff;
  await page.goto(sandbox.larkspur.url);
  await page.locator('input[autocomplete="username"]').fill(person?.username ?? '');
  await page.locator('input[type="password"]').fill(person?.password ?? '');
  await page.keyboard.press('Enter');
  await page.locator('input[autocomplete="one-time-code"]').fill(api.code());
  await page.keyboard.press('Enter');
  await page.waitForURL('**/patients');
  await page.getByRole('link', { name: 'Referrals', exact: true }).click();
  await page.getByLabel('Patient or MRN').fill(mrn);
  await page.keyboard.press('Enter');
  await page.getByText('1 referral', { exact: true }).waitFor();
  expect(await accessibilityViolations(page)).toStrictEqual([]);
  await page.getByRole('link', { name: emr_referral_id }).click();
  await page.getByRole('link', { name: 'results.pdf' }).waitFor();
  expect(await accessibilityViolations(page)).toStrictEqual([]);
  await page.getByLabel('Status of the referral').selectOption('Scheduled');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect.poll(() => page.locator('dd', { hasText: 'Scheduled' }).count()).toBe(1);
  await page.goto(`${sandbox.larkspur.url}/patients/${patient_ehr_id}#referrals`);
  await page.locator('#referrals').getByText('Scheduled').waitFor();
  await page.close();
});
