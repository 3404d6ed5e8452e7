import type * as fhir from 'fhir/r4.js';
import { type Emr, idIn, referringTo } from '../references.ts';
import { grouped } from '../values.ts';

/** What these people do here, by their ids; roles that have ended are passed over. */
export async function rolesOf(
  client: Emr['client'],
  people: readonly fhir.Practitioner[],
): Promise<ReadonlyMap<string, fhir.PractitionerRole[]>> {
  const references = people.map(({ id }) => `Practitioner/${id}`);
  const found = await referringTo<fhir.PractitionerRole>(client, 'PractitionerRole', ['practitioner'], references);
  const current = found.filter(({ active }) => active !== false);
  return grouped(current, (role) => idIn(role.practitioner, 'Practitioner') ?? '');
}
