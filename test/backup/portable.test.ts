import { expect, test } from 'vitest';
import { accept } from '../journeys/installation.ts';
import { expectNewGeneration, followChanges } from './followChanges.ts';
import { install } from './installation.ts';

test('a portable backup is loaded into a new database server, which continues', async () => {
  const installation = await install();
  const first = await installation.start(installation.data_dir);
  const { api } = await installation.read();
  // What the text format has to escape.
  const reason = 'a\tb\nc\\d \\N é 👩‍⚕️';
  const before = await accept({ api }, 2, { reason });
  const event = await api.untilEvent(before.job_id);
  const patients = (await api.call('GET', '/v1/patients')).body;
  const followed = await followChanges(api);
  expect(followed.ids.size).toBeGreaterThan(100);
  const { sandbox } = await installation.read();
  const patient = ['--client', sandbox.client_id, '--org', sandbox.org_id, '--patient', 'LK100001'];
  const hold = ['holds', 'place', ...patient, '--reference', 'Case 17'];
  expect(await installation.run(installation.data_dir, hold)).toMatchObject({ code: 0 });
  expect(await installation.backUp('--portable')).toMatchObject({ code: 0 });
  await first.stop();

  expect(await installation.restore()).toMatchObject({ code: 0 });
  await installation.start(installation.restored_dir);
  expect((await api.call('GET', `/v1/webhook-events?job_id=${before.job_id}`)).body.webhook_events).toMatchObject([
    { event_type: event.event_type, data: { reason } },
  ]);
  expect((await api.call('GET', '/v1/patients')).body).toStrictEqual(patients);
  await expectNewGeneration(api, followed);
  const erasure = await installation.run(installation.restored_dir, ['erase', 'patient', ...patient, '--yes']);
  expect(erasure, 'the hold is in force').toMatchObject({ code: 1, stderr: expect.stringContaining('legal hold') });
  const after = await accept({ api }, 2);
  expect(after.job_id).toBeGreaterThan(before.job_id);
  await api.untilEvent(after.job_id);
  expect(await installation.run(installation.restored_dir, ['audit', 'verify'])).toMatchObject({ code: 0 });
});
