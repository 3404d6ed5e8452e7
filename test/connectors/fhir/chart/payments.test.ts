import type * as fhir from 'fhir/r4.js';
import { expect, test } from 'vitest';
import type { NewPayment } from '../../../../src/emr/operations/billing.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { linkCharts, markedBy, performWrite } from './charts.ts';

const server = sharedFhirServer({ data: 'small' });

let count = 0;
const newMarker = () => `payment-${++count}`;
const payment: NewPayment = {
  patient_ehr_id: 'pat-1',
  location_ehr_id: 'loc-1',
  amount_cents: 1999,
  payment_method: { code: null, name: 'Check' },
  reference_number: '1042',
  deposit_date: '2026-03-09',
  notes: null,
};

test.each([
  ['with conditional create', true],
  ['without conditional create', false],
])('a payment is posted once on a server %s, whichever request or response is lost', async (_server, conditional) => {
  server.faults.conditional_create = conditional;
  const charts = await linkCharts(server);
  // The first one also looks whether the server keeps markers.
  await performWrite(charts.emr.postPayment, payment, newMarker());
  charts.requests();
  await performWrite(charts.emr.postPayment, payment, newMarker());
  const requests = charts.requests();
  for (let n = 1; n <= requests; n++) {
    for (const when of ['before', 'after'] as const) {
      const marker = newMarker();
      charts.lose(n, when);
      const posted = await performWrite(charts.emr.postPayment, payment, marker);
      expect(posted).toMatchObject({ amount_cents: 1999, balance_after_cents: null });
      const notices = await markedBy<fhir.PaymentNotice>(server, 'PaymentNotice', marker);
      expect(
        notices.map(({ amount }) => amount.value),
        `request ${n} lost ${when}`,
      ).toStrictEqual([19.99]);
    }
  }
});

test('a payment names the organization and the name of the location as its recipient', async () => {
  const { emr } = await linkCharts(server);
  const marker = newMarker();
  await emr.postPayment.send(payment, marker);
  const [notice] = await markedBy<fhir.PaymentNotice>(server, 'PaymentNotice', marker);
  const location = (await server.resources<fhir.Location>('Location')).find(({ id }) => id === 'loc-1');
  expect(notice?.recipient.display).toBe(location?.name);
  expect(notice).toMatchObject({ request: { reference: 'Patient/pat-1' }, paymentDate: '2026-03-09' });
});

test('a payment at a location that does not exist is refused before anything is written', async () => {
  const { emr } = await linkCharts(server);
  const marker = newMarker();
  const failure = await awaitFailure(emr.postPayment.send({ ...payment, location_ehr_id: 'nowhere' }, marker));
  expect(failure).toMatchObject({ kind: 'not_found' });
  expect(await markedBy(server, 'PaymentNotice', marker)).toHaveLength(0);
});

test('a server that cannot be searched for a payment by our marker does not offer payments', async () => {
  server.faults.search_by_identifier = false;
  expect((await linkCharts(server)).emr.postPayment).toBeUndefined();
});
