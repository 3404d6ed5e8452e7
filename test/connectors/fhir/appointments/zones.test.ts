import { afterAll, beforeAll, expect, test } from 'vitest';
import { findStateZone } from '../../../../src/emr/fhir/sign-in/signIn.ts';
import { us_state } from '../../../../src/model/fields.ts';
import { type FhirServer, startFhirServer } from '../../../harness/fhir/startFhirServer.ts';
import { createEndpoint } from '../../larkspur/fixture.ts';
import { bySecret, signedIn } from '../fixture.ts';

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'none' });
});
afterAll(() => server.close());

const zone = async () => (await signedIn(createEndpoint(server.url), bySecret(server))).timezone;

test('a practice is in the zone of its location, else in that of its state, else in none', async () => {
  expect(await zone()).toBeUndefined();
  await server.storeUnchecked({ resourceType: 'Location', id: 'closed', status: 'inactive', address: { state: 'HI' } });
  await server.storeUnchecked({ resourceType: 'Location', id: 'bare' });
  expect(await zone()).toBeUndefined();
  await server.storeUnchecked({ resourceType: 'Location', id: 'open', address: { state: 'az' } });
  expect(await zone()).toBe('America/Phoenix');
  const extension = [{ url: 'http://hl7.org/fhir/StructureDefinition/timezone', valueCode: 'America/Denver' }];
  await server.storeUnchecked({ resourceType: 'Location', id: 'said', extension });
  expect(await zone()).toBe('America/Denver');
});

test('every state of the interface has a zone, except the military post regions', () => {
  const { pattern } = us_state as typeof us_state & { pattern: string };
  const codes = [...pattern.matchAll(/\[([A-Z])[a-z]\]\[([A-Z])[a-z]\]/g)].map(([, a, b]) => `${a}${b}`);
  expect(codes.length).toBeGreaterThan(50);
  const zoneless = codes.filter((code) => findStateZone(code) === undefined);
  expect(zoneless).toStrictEqual(['AA', 'AE', 'AP']);
});
