import { describe, expect, test } from 'vitest';
import { fhir as fhirConnector } from '../../../../src/emr/fhir/fhir.ts';
import type { Operations } from '../../../../src/emr/operations/operations.ts';
import { sharedFhirServer } from '../../../harness/fhir/sharedFhirServer.ts';
import { awaitFailure, createEndpoint, required } from '../../larkspur/fixture.ts';
import { bySecret, linkedClient, signedIn } from '../fixture.ts';

const server = sharedFhirServer({ data: 'small' });

async function link() {
  const { access, client } = await linkedClient(server);
  const { capabilities = [] } = await signedIn(createEndpoint(server.url), bySecret(server));
  // A test that uses an unsupported operation fails.
  const emr = fhirConnector.open(createEndpoint(server.url), access) as Operations;
  return { client, capabilities, emr };
}

async function anyone() {
  const [patient] = await (await link()).emr.searchPatients({ mrn: 'MB100001' });
  return required(patient);
}

describe('patients are searched by what the server has', () => {
  test.each([
    ['phone', ['phone', 'telecom']],
    ['given', ['given']],
    ['family', ['family', 'given', 'phone', 'telecom']],
  ])('without %s, by names and by date of birth', async (_, withheld) => {
    const { ehr_id, first_name, last_name, dob } = await anyone();
    server.faults.withheld_params = { Patient: withheld };
    const { emr } = await link();
    const names = await emr.searchPatients({ first_name, last_name });
    expect(names.map((each) => each.ehr_id)).toContain(ehr_id);
    // Filtered here, by what the server was not asked for.
    expect(names.filter((each) => each.first_name !== first_name || each.last_name !== last_name)).toEqual([]);
    const born = await emr.searchPatients({ dob: dob ?? '' });
    expect(born.map((each) => each.ehr_id)).toContain(ehr_id);
  });

  test('a server without phone numbers refuses that search, and does not return everyone', async () => {
    server.faults.withheld_params = { Patient: ['phone', 'telecom'] };
    const { emr } = await link();
    expect(await awaitFailure(emr.searchPatients({ phone: '518-555-0101' }))).toMatchObject({
      kind: 'refused',
      code: 'not_supported',
    });
  });

  test('is offered for an identifier alone, or for a name with a date of birth', async () => {
    const all = ['name', 'family', 'given', 'birthdate', 'phone', 'telecom', 'identifier', 'email'];
    const offers = async (...kept: string[]) => {
      server.faults.withheld_params = { Patient: all.filter((name) => !kept.includes(name)) };
      return (await link()).capabilities.includes('searchPatients');
    };
    expect(await offers('identifier')).toBe(true);
    expect(await offers('name', 'birthdate')).toBe(true);
    expect(await offers('name')).toBe(false);
    expect(await offers('birthdate')).toBe(false);
  });
});

describe('an id that the server rejects in a format of its own', () => {
  test.each(['no-such-record-0', '00000000-0000-4000-8000-000000000000'])('%s is not found', async (id) => {
    server.faults.missing_ids = 'own_format';
    const { client, emr } = await link();
    expect(await client.read('Appointment', id)).toBeUndefined();
    expect(await emr.getAppointment(id)).toBeUndefined();
  });
});

test('an error while an empty result is checked fails the read', async () => {
  const { client } = await link();
  expect(await client.searchAll('Patient', { gender: 'no-such-code' })).toEqual([]);
  const { client: another } = await link();
  server.fail({ kind: 'error_500', path: '/Patient?_count=20', times: 5 });
  expect(await awaitFailure(another.searchAll('Patient', { gender: 'no-such-code' }))).toMatchObject({
    kind: 'unavailable',
  });
});
