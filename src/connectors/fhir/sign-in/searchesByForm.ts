import { randomUUID } from 'node:crypto';
import type * as fhir from 'fhir/r4.js';
import { EmrFailure } from '../../connector.ts';
import { bundleOf, pageOf } from '../transport/bundles.ts';
import { type Answer, unreadable } from '../transport/call.ts';
import { capabilitiesOf, type ServerFacts } from '../transport/capabilities.ts';
import { marker_system } from '../transport/resources.ts';
import { type Ask, urlOf } from '../transport/search.ts';

/**
 * Every server should take searches in a body, not all do, and none says so: it is tried with an identifier that nobody
 * has, and with the id of somebody. Whoever finds somebody by the one or nobody by the other did not read the body. A
 * server that is out of order for now is taken for what it was `before`: else a bad minute would put names into addresses.
 */
export async function searchesByForm(base: URL, facts: ServerFacts, ask: Ask, before: boolean): Promise<boolean> {
  const capabilities = capabilitiesOf(facts);
  const params = capabilities.searchParams('Patient');
  if (!capabilities.interactions('Patient').has('search-type') || !params.has('identifier')) return false;
  const url = urlOf(base, 'Patient', '_search');
  const find = async (name: string, value: string) =>
    patientsIn(await ask({ method: 'POST', url, body: new URLSearchParams({ [name]: value, _count: '1' }) }));
  try {
    if ((await find('identifier', `${marker_system}|${randomUUID()}`)).length > 0) return false;
    const known = params.has('_id') ? await anyId(base, ask) : undefined;
    return known === undefined || (await find('_id', known)).some(({ id }) => id === known);
  } catch (error) {
    if (!(error instanceof EmrFailure) || error.kind === 'login_required') throw error;
    return error.kind === 'unavailable' && error.message !== unreadable ? before : false;
  }
}

/** Undefined where there is nobody, or where the server does not show people to who asks for anybody. */
async function anyId(base: URL, ask: Ask): Promise<string | undefined> {
  const answer = await ask({ method: 'GET', url: new URL('?_count=1', urlOf(base, 'Patient')) });
  return answer.status < 400 ? patientsIn(answer)[0]?.id : undefined;
}

function patientsIn(answer: Answer): fhir.Patient[] {
  return pageOf<fhir.Patient>(bundleOf(answer), 'Patient').matches;
}
