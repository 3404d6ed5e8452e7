import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { canSearch } from '../references.ts';
import type { FhirClient } from '../transport/client.ts';

type ResourceType = fhir.FhirResource['resourceType'];

/**
 * Some records can be stored as one of several types, depending on the server. We use those that it lets us create and
 * search by our marker, in the given order.
 */
function usableForms<Type extends ResourceType>(client: FhirClient, types: readonly Type[]): Type[] {
  return types.filter(
    (type) => client.capabilities.interactions(type).has('create') && canSearch(client, type, ['identifier']),
  );
}

/** Throws if the server takes none of the types, or no longer does. */
export function requireForm(client: FhirClient, types: readonly ResourceType[]): void {
  if (usableForms(client, types).length > 0) return;
  const message = `The server does not accept new ${types.join(' or ')} records.`;
  throw new EmrFailure('refused', message, { code: 'not_supported', not_offered: true });
}

/** The record that an earlier attempt stored, in whichever form. */
export async function findInForm(
  client: FhirClient,
  types: readonly ResourceType[],
  marker: string,
): Promise<fhir.FhirResource | undefined> {
  for (const type of types.filter((each) => client.canFind(each))) {
    const found = await client.findByMarker(type, marker);
    if (found) return found;
  }
  return undefined;
}

/** The same after a create whose response was lost. Throws `unknown_outcome` if absence would prove nothing. */
export async function findCreatedInForm(
  client: FhirClient,
  types: readonly ResourceType[],
  marker: string,
): Promise<fhir.FhirResource | undefined> {
  const found = await findInForm(client, types, marker);
  const [sent] = usableForms(client, types);
  return found ?? (sent && client.findCreated(sent, marker));
}

/**
 * Stores the record in the first form that the server takes. A type that it refuses as a whole is remembered. What an
 * earlier attempt stored is looked up before, by `findInForm`.
 */
export async function createInForm(
  client: FhirClient,
  forms: readonly fhir.FhirResource[],
  marker: string,
): Promise<fhir.FhirResource> {
  const types = forms.map(({ resourceType }) => resourceType);
  requireForm(client, types);
  const [type, ...others] = usableForms(client, types);
  const form = forms.find(({ resourceType }) => resourceType === type);
  if (!form) throw new Error('a usable form without a resource');
  try {
    return await client.create(form, marker);
  } catch (error) {
    const refused = error instanceof EmrFailure && error.not_offered;
    if (!refused || others.length === 0) throw error;
    return createInForm(client, forms, marker);
  }
}
