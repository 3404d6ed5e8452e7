import { type Credentials, type Door, EmrFailure, type SignIn } from '../connector.ts';
import { call } from './call.ts';
import { factsOf } from './capabilities.ts';
import { urlOf } from './search.ts';

export async function signIn(door: Door, credentials: Credentials): Promise<SignIn> {
  const answer = await call(door, { method: 'GET', url: urlOf(new URL(door.address), 'metadata') }, undefined);
  if (answer.resource?.resourceType !== 'CapabilityStatement') {
    throw new EmrFailure('refused', 'This address is not a FHIR R4 server.');
  }
  const grant = { access_token: credentials.bearer_token ?? '', server: JSON.stringify(factsOf(answer.resource)) };
  return { outcome: 'signed_in', grant, user: { ehr_id: 'service', name: 'FHIR service' }, timezone: 'UTC' };
}
