import type * as fhir from 'fhir/r4.js';
import { parseUrl } from '../../../catalog/parseUrl.ts';
import { EmrFailure } from '../../connector.ts';
import {
  type FhirResponse,
  isBelowBase,
  issuesCode,
  issuesOf,
  outcomeMessage,
  rejection,
  unreadable_response,
} from './call.ts';

export type Bundle = fhir.Bundle<fhir.FhirResource>;
export type Page<T> = { matches: T[]; included: fhir.FhirResource[] };

export function toBundle(response: FhirResponse): Bundle {
  if (response.status >= 400) throw rejection(response);
  if (response.resource?.resourceType !== 'Bundle') throw new EmrFailure('unavailable', unreadable_response);
  // Each entry is checked in `toPage`.
  return response.resource as Bundle;
}

/** Servers that do not mark their entries (`type: collection`) are read by resource type. */
export function toPage<T extends fhir.FhirResource>(bundle: Bundle, type: T['resourceType']): Page<T> {
  const page: Page<T> = { matches: [], included: [] };
  for (const entry of Array.isArray(bundle.entry) ? bundle.entry : []) {
    const resource = entry?.resource;
    if (!resource) continue;
    if (resource.resourceType === 'OperationOutcome') throwOnError(resource);
    else if (resource.resourceType === type && entry.search?.mode !== 'include') {
      // T is the resource of this resourceType.
      page.matches.push(resource as T);
    } else page.included.push(resource);
  }
  return page;
}

/**
 * The next page, always below the linked address, so that the token goes nowhere else, not even to another tenant on the
 * same host. A server behind a proxy may use an internal host name; the same path on our host is the same list.
 */
export function nextUrl(base: URL, bundle: Bundle): URL | undefined {
  const links = Array.isArray(bundle.link) ? bundle.link : [];
  const next = links.find((link) => link?.relation === 'next')?.url;
  if (next === undefined) return undefined;
  const below = `${base.href.replace(/\/$/, '')}/`;
  const url = typeof next === 'string' ? parseUrl(next, below) : undefined;
  if (!url) throw new EmrFailure('unavailable', unreadable_response);
  const at_base = new URL(url.pathname + url.search, base.origin);
  if (isBelowBase(base, at_base)) return at_base;
  throw new EmrFailure('unavailable', 'The EMR continued a list at another address, which is not followed.');
}

/** Hints are ignored. An unsupported or incomplete search is an error. */
function throwOnError(outcome: fhir.OperationOutcome): void {
  const errors = issuesOf(outcome).filter(
    (issue) => ['error', 'fatal'].includes(issue?.severity) || ['not-supported', 'incomplete'].includes(issue?.code),
  );
  if (errors.length === 0) return;
  const message = outcomeMessage(outcome) ?? 'The EMR did not perform the search as requested.';
  throw new EmrFailure('refused', message, { code: issuesCode(errors) });
}
