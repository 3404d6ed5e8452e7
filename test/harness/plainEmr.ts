import type { Connector } from '../../src/connectors/connector.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { type Api, openApi } from './api.ts';
import type { TestSandbox } from './sandbox.ts';

/** What every EMR is expected to have; the rest is Larkspur's own. */
const capabilities = [
  'listProviders',
  'listStaff',
  'listLocations',
  'listPharmacies',
  'listPatients',
  'listInsuranceProviders',
  'listReferringProviders',
  'findPatient',
  'searchPatients',
  'listMedications',
  'listPatientPharmacies',
  'listEncounters',
  'createPatient',
  'updatePatient',
  'addPatientInsurance',
  'createAppointment',
  'uploadDocument',
] as const satisfies Connector['capabilities'];

/**
 * An EMR without anything that the interface restricts to some EMRs: Larkspur, but for what it lacks. A FHIR server is
 * not it: one has alerts and changes of insurances, another has not, and the tests that use this look into Larkspur's
 * charts for what came of a write.
 */
const plain: Connector = {
  ...larkspur,
  name: 'plain',
  display_name: 'Plain',
  restricted_fields: false,
  capabilities,
  open: (endpoint, access) => {
    const all = larkspur.open(endpoint, access);
    return Object.fromEntries(capabilities.map((name) => [name, all[name]]));
  },
};

/** Lets a running product link such an EMR, with whatever `more` says of it instead. */
export function addPlainEmr(world: TestSandbox, more: Partial<Connector> = {}): void {
  // The product's own table of connectors is open to whoever runs it in this process.
  (world.ctx.connectors as Map<string, Connector>).set(plain.name, { ...plain, ...more });
}

/** Runs `work` while the sandbox's own organization is of such an EMR. */
export async function asPlainEmr(world: TestSandbox, work: () => Promise<void>): Promise<void> {
  addPlainEmr(world);
  const { org_id } = world.sandbox;
  const belongTo = async (connector: string) => {
    await world.owner`UPDATE organizations SET connector = ${connector} WHERE org_id = ${org_id}`;
    world.ctx.lookups.clear();
  };
  await belongTo(plain.name);
  try {
    await work();
  } finally {
    await belongTo(larkspur.name);
  }
}

/** Links an account of such an EMR to a running product, and gives the API as that account. */
export async function linkPlainEmr(world: TestSandbox, { synced = true } = {}): Promise<Api> {
  addPlainEmr(world);
  const access_token = await world.api.link({ org_id: 'plain-practice', user_id: 'plain-user', emr_name: plain.name });
  const api = openApi({ ...world.sandbox, access_token });
  if (synced) await api.sync();
  return api;
}
