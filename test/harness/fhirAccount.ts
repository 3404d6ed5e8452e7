import type { Api } from './api.ts';
import { linkFhir } from './fhir/linkFhir.ts';
import { type FhirServer, startFhirServer } from './fhir/startFhirServer.ts';
import type { TestSandbox } from './sandbox.ts';

/** An account at an EMR other than Larkspur: the test FHIR server, with a few records of each kind. */
export type FhirAccount = { api: Api & { access_token: string }; server: FhirServer; mrn: string };

const accounts = new WeakMap<TestSandbox, Promise<FhirAccount>>();

/** Links the account on first use and syncs it; later calls for the same sandbox return the same account. */
export function fhirAccount(fixture: TestSandbox): Promise<FhirAccount> {
  const account = accounts.get(fixture) ?? linkAccount(fixture);
  accounts.set(fixture, account);
  return account;
}

async function linkAccount(fixture: TestSandbox): Promise<FhirAccount> {
  const server = await startFhirServer({ data: 'small' });
  // Withholds what the specification restricts to Larkspur, and long lists that no test about another EMR reads.
  server.faults.withheld = {
    Account: 'all',
    Flag: 'all',
    Invoice: 'all',
    RelatedPerson: 'all',
    Coverage: ['update', 'search-type'],
    Appointment: 'all',
    Claim: 'all',
    ServiceRequest: 'all',
    Slot: 'all',
    Encounter: ['create', 'read'],
  };
  server.faults.us_core = false;
  server.faults.withheld_params = { Patient: ['language', 'general-practitioner'], Coverage: ['payor'] };
  const api = await linkFhir(fixture, server, { user_id: 'fhir-user', org_id: 'fhir-practice' });
  await api.sync();
  return { api, server, mrn: 'MB100001' };
}
