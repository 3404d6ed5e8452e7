import type * as fhir from 'fhir/r4.js';
import { expect, test } from 'vitest';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure } from '../../larkspur/fixture.ts';
import { document } from '../inputs.ts';
import { linkCharts, markedBy } from './charts.ts';

const server = sharedFhirServer({ data: 'small' });

let count = 0;
const newMarker = () => `document-${++count}`;
const large = (bytes: number) => ({ ...document, content: Buffer.concat([document.content, Buffer.alloc(bytes, 32)]) });

async function upload(input: typeof document, opened = linkCharts(server)) {
  const marker = newMarker();
  const { emr } = await opened;
  const { ehr_id } = await emr.uploadDocument.send(input, marker);
  const [stored] = await markedBy<fhir.DocumentReference>(server, 'DocumentReference', marker);
  const [task] = await markedBy<fhir.Task>(server, 'Task', marker);
  const { url, data } = stored?.content[0]?.attachment ?? {};
  const binary = (await server.resources<fhir.Binary>('Binary')).find(({ id }) => url === `Binary/${id}`);
  const content = Buffer.from(data ?? binary?.data ?? '', 'base64');
  return { ehr_id, stored, task, binary, embedded: data !== undefined, complete: content.equals(input.content) };
}

test('a document is stored as a file, with its folder, its name and a task for the assignee', async () => {
  const { ehr_id, stored, task, binary, complete } = await upload(document);
  expect(stored).toMatchObject({
    id: ehr_id,
    docStatus: 'final',
    category: [{ text: 'Referrals/2026' }],
    description: 'Received by fax.',
    subject: { reference: 'Patient/pat-1' },
    type: { text: 'Referrals/2026' },
    content: [{ attachment: { title: 'synthetic referral.pdf', contentType: 'application/pdf' } }],
  });
  expect(complete).toBe(true);
  expect(binary).toMatchObject({ contentType: 'application/pdf', securityContext: { reference: 'Patient/pat-1' } });
  expect(task).toMatchObject({
    priority: 'urgent',
    owner: { reference: 'Practitioner/staff-1' },
    focus: { reference: `DocumentReference/${ehr_id}` },
  });
});

test.each([
  ['image/jpeg', 'Card.JPEG', 'Card.JPEG'],
  ['image/png', 'card.jpg', 'card.jpg.png'],
  ['application/pdf', null, 'document.pdf'],
] as const)('a document of type %s called %s is shown as %s', async (type, file_name, title) => {
  const { stored } = await upload({ ...document, type, file_name } as typeof document);
  expect(stored?.content[0]?.attachment.title).toBe(title);
});

test.each([
  ['declares no Binary', { withheld: { Binary: 'all' as const } }],
  ['takes no files in raw form', { raw_binaries: false }],
  ['does not let us store a Binary', { forbidden: ['Binary'] }],
])('a document is embedded if the server %s', async (_what, faults) => {
  Object.assign(server.faults, faults);
  const opened = linkCharts(server);
  expect(await upload(document, opened)).toMatchObject({ embedded: true, complete: true });
  // The refused form is not tried again.
  const before = server.ledger.length;
  await upload(document, opened);
  expect(server.ledger.slice(before).some(({ path }) => path.endsWith('/Binary'))).toBe(false);
});

test('a document is stored as a Binary in JSON if the server rejects raw and embedded files', async () => {
  server.faults.raw_binaries = false;
  const opened = linkCharts(server);
  await opened;
  server.fail({ kind: 'invalid', method: 'POST', path: '/DocumentReference' });
  expect(await upload(document, opened)).toMatchObject({ embedded: false, complete: true });
});

test('a document that is too large for JSON is stored in raw form', async () => {
  server.faults.json_bytes_max = 1_000_000;
  expect(await upload(large(1_500_000))).toMatchObject({ embedded: false, complete: true });
});

test('a document that is too large in every form is refused, and the limit is remembered', async () => {
  Object.assign(server.faults, { json_bytes_max: 1_000_000, raw_bytes_max: 1_200_000 });
  const opened = linkCharts(server);
  const { emr, grant } = await opened;
  const refused = { kind: 'refused', code: 'emr_validation', message: /document of this size \(1\.5 MB\)/ };
  const send = (bytes: number) => awaitFailure(emr.uploadDocument.send(large(bytes), newMarker()));
  expect(await send(1_500_000)).toMatchObject({ ...refused, message: expect.stringMatching(refused.message) });
  const { documents } = JSON.parse(grant().server ?? '');
  expect(documents).toMatchObject({ raw_refused_bytes: 1_500_018, json_refused_bytes: 1_500_018 });
  const before = server.ledger.filter(({ method }) => method === 'POST').length;
  expect((await send(1_600_000)).code).toBe('emr_validation');
  expect(server.ledger.filter(({ method }) => method === 'POST').length).toBe(before);
  expect(await upload(large(1_100_000), opened)).toMatchObject({ embedded: false, complete: true });
});

test('a document is refused by field name if the server does not support a field', async () => {
  server.faults.withheld = { Task: 'all' };
  const { emr } = await linkCharts(server);
  const failure = await awaitFailure(emr.uploadDocument.send(document, newMarker()));
  expect(failure).toMatchObject({
    kind: 'refused',
    message: "Field 'emr_assigned_to_id' is not supported by this EMR.",
  });
});
