import { randomUUID } from 'node:crypto';
import { EmrFailure } from '../connector.ts';
import { bundleOf, pageOf } from './bundles.ts';
import { capabilitiesOf, type ServerFacts } from './capabilities.ts';
import { type Ask, urlOf } from './search.ts';
import { marker_system } from './writes.ts';

/**
 * Every server should take searches in a body, not all do, and none says so: it is tried with an identifier that nobody
 * has. Whoever finds somebody by it did not read the body.
 */
export async function searchesByForm(base: URL, facts: ServerFacts, ask: Ask): Promise<boolean> {
  const capabilities = capabilitiesOf(facts);
  if (!capabilities.interactions('Patient').has('search-type')) return false;
  if (!capabilities.searchParams('Patient').has('identifier')) return false;
  const body = new URLSearchParams({ identifier: `${marker_system}|${randomUUID()}`, _count: '1' });
  try {
    const answer = await ask({ method: 'POST', url: urlOf(base, 'Patient', '_search'), body });
    return pageOf(bundleOf(answer), 'Patient').matches.length === 0;
  } catch (error) {
    if (error instanceof EmrFailure && error.kind !== 'login_required') return false;
    throw error;
  }
}
