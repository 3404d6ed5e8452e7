import type * as r4 from 'fhir/r4.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fhir } from '../../../src/emr/fhir/fhir.ts';
import { collect } from '../../../src/emr/operations/operation.ts';
import { type FhirServer, startFhirServer } from '../../harness/fhir/startFhirServer.ts';
import { createEndpoint, required } from '../larkspur/fixture.ts';
import { bySecret, signedIn } from './fixture.ts';

let server: FhirServer;
beforeAll(async () => {
  server = await startFhirServer({ data: 'small' });
});
afterAll(() => server.close());

async function open() {
  const endpoint = createEndpoint(server.url);
  const credentials = bySecret(server);
  const { grant } = await signedIn(endpoint, credentials);
  return fhir.open(endpoint, { credentials, grant, saveGrant: async () => {} });
}

test('a payer has the name of its record, not the text of a reference to it', async () => {
  const [coverage] = await server.resources<r4.Coverage>('Coverage');
  const [payor] = required(coverage).payor;
  const payer = (await server.resources<r4.Organization>('Organization')).find(
    ({ id }) => payor?.reference === `Organization/${id}`,
  );
  await server.storeUnchecked({ ...required(coverage), payor: [{ ...payor, display: 'Name of an old plan' }] });
  const patient_ehr_id = required(coverage).beneficiary.reference?.split('/')[1];
  const { listPatients } = await open();
  const patients = await collect(required(listPatients)());
  const { insurance_name } = required(patients.find(({ ehr_id }) => ehr_id === patient_ehr_id));
  expect(insurance_name).toBe(payer?.name);
});

test('a claim that a group has made names the group', async () => {
  const [claim] = await server.resources<r4.Claim>('Claim');
  const group = { resourceType: 'Organization', id: 'group-1', active: true, name: 'Meadowbrook Group' } as const;
  await server.storeUnchecked(group);
  await server.storeUnchecked({ ...required(claim), provider: { reference: 'Organization/group-1' } });
  const { listClaims } = await open();
  const claims = await collect(required(listClaims)());
  expect(claims.find(({ ehr_id }) => ehr_id === claim?.id)).toMatchObject({
    emr_provider_id: null,
    provider_name: 'Meadowbrook Group',
  });
});
