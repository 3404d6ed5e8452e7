import type { Connector, OperationName } from '../../src/connectors/connector.ts';
import { larkspur } from '../../src/connectors/larkspur/larkspur.ts';
import { type LinkSteps, linkSteps } from '../api/linkSteps.ts';
import type { TestSandbox } from '../harness/sandbox.ts';

/** What the interface keeps for the restricted EMR. */
const restricted: readonly OperationName[] = [
  'createTelephoneEncounter',
  'addTelephoneAction',
  'addRefill',
  'listGuarantors',
  'getBalances',
  'getAlerts',
  'listPatientInsurances',
];

/** Another EMR that can be linked: Larkspur's server by another name, without all that only Larkspur offers. */
export function addPlainEmr(world: TestSandbox, more: Partial<Connector> = {}): void {
  const { connectors } = world.ctx;
  if (!(connectors instanceof Map)) throw new Error('No connector can be added.');
  const plain: Connector = {
    ...larkspur,
    name: 'plain',
    display_name: 'Plain',
    offers: larkspur.offers.filter((name) => !restricted.includes(name)),
    open: (door, access) => {
      const offered = Object.entries(larkspur.open(door, access));
      return Object.fromEntries(offered.filter(([name]) => !restricted.includes(name as OperationName)));
    },
    ...more,
  };
  connectors.set(plain.name, plain);
}

/** The access token of an account of the plain EMR, in an organisation of its own. */
export async function linkPlain(world: TestSandbox, org_id = 'plain-practice', staff = 9): Promise<string> {
  const steps: LinkSteps = linkSteps(world);
  const token = await steps.linkToken({ user_id: 'plain-user', org_id, emr_name: 'plain' });
  return (await steps.exchange((await steps.signIn(token, staff)).body.public_token)).body.token;
}
