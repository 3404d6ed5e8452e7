import { EmrFailure } from '../../connector.ts';
import { needs } from '../needs.ts';
import { capabilitiesOf, type ServerFacts } from '../transport/capabilities.ts';
import { type Ask, urlOf } from '../transport/search.ts';
import { searchesByForm } from './searchesByForm.ts';

/**
 * Adds what no statement says and only trying shows. Where the server is not there to answer, what was known of it
 * `before` holds.
 */
export async function tryServer(base: URL, facts: ServerFacts, ask: Ask, before?: ServerFacts): Promise<ServerFacts> {
  const searches_by_form = await searchesByForm(base, facts, ask, before?.searches_by_form ?? false);
  const unlisted: string[] = [];
  for (const type of listed_types) {
    const able = capabilitiesOf(facts).interactions(type).has('search-type');
    const known = before?.unlisted?.includes(type) ?? false;
    if (able && (await wantsNarrower(base, type, ask, known))) unlisted.push(type);
  }
  // What was learnt by writing is not unlearnt by looking.
  const { unmarked } = before ?? {};
  return { ...facts, searches_by_form, unlisted, ...(unmarked && { unmarked }) };
}

const listed_types = new Set(
  Object.values(needs)
    .flat()
    .filter(({ whole }) => whole)
    .map(({ type }) => type),
);

/**
 * Whether a server gives these records only to who names a patient, a day or the like, as those of hospitals do. That
 * this account may not see them (403) is another matter, and may be put right tomorrow.
 */
async function wantsNarrower(base: URL, type: string, ask: Ask, before: boolean): Promise<boolean> {
  const url = urlOf(base, type);
  const one = new URL('?_count=1', url);
  try {
    const { status } = await ask({ method: 'GET', url: one });
    // Some refuse only to be told how many.
    const plain = status === 400 ? (await ask({ method: 'GET', url })).status : status;
    return [400, 404, 405, 422, 501].includes(plain);
  } catch (error) {
    if (error instanceof EmrFailure && error.kind !== 'login_required') return before;
    throw error;
  }
}
