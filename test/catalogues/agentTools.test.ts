import { expect, test } from 'vitest';
import { isRead } from '../../src/http/endpoint.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';

test('AI agents are offered the writes of the first interface, and none that was added later', () => {
  const offered = endpoints.filter((each) => each.agent_tool !== undefined && !isRead(each)).map(({ id }) => id);
  expect(offered.sort()).toStrictEqual([
    'appointments.create',
    'documents.create',
    'locations.update',
    'patients.create',
    'patients.fetch',
    'patients.insurances.create',
    'patients.insurances.update',
    'patients.update',
    'providers.update',
    'providers.update-by-ehr-id',
    'sync.create',
    'telephone-encounters.actions.create',
    'telephone-encounters.create',
    'webhook-events.resend',
  ]);
});
