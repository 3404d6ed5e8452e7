import type { Connector, OperationName, Operations } from '../connector.ts';
import { needs } from './needs.ts';
import { offersOf } from './offersOf.ts';
import { operationsOf } from './operations.ts';
import { pageSignIn } from './sign-in/pageSignIn.ts';
import { lookAgain } from './sign-in/refreshCapabilities.ts';
import { signIn } from './sign-in/signIn.ts';
import { credential_fields, sign_in_ways } from './sign-in/signInWays.ts';
import { openClient } from './transport/client.ts';

export const fhir: Connector = {
  name: 'fhir',
  display_name: 'FHIR R4',
  credential_fields,
  sign_in_ways,
  page_sign_in: pageSignIn,
  // Some servers fail when two creates run at once.
  limits: { parallel_max: 1 },
  restricted_fields: false,
  refuseAddress: (url) => (url.href.includes('?') ? 'must be the base address of the FHIR server.' : undefined),
  signIn,
  discover: lookAgain,
  // The keys of the table are names of operations; TypeScript gives them back as texts.
  offers: Object.keys(needs) as OperationName[],
  open: (door, access): Partial<Operations> => {
    const client = openClient(door, access);
    const all = operationsOf({ client, timezone: access.timezone ?? 'UTC' });
    const offered: readonly string[] = offersOf(client.capabilities);
    return Object.fromEntries(Object.entries(all).filter(([name]) => offered.includes(name)));
  },
};
