import { destinationChange, destinationOf } from '../../platform/security/outbound.ts';
import type { Endpoint } from './endpoints.ts';

/** The audit detail of a change of an endpoint: where events went and go, and which ones. */
export function describeChange(before: Endpoint | undefined, after: Endpoint | undefined): Record<string, unknown> {
  const url = after?.url ?? before?.url;
  const destinations = destinationChange('webhook', before?.url, after?.url);
  return {
    ...(url !== undefined && { url: destinationOf(url) }),
    ...(destinations.length > 0 && { destinations }),
    ...difference('status', before?.status, after?.status),
    ...difference('event_types', before && (before.event_types ?? 'all'), after && (after.event_types ?? 'all')),
  };
}

/** The values before and after, if they differ; null stands for an endpoint that does not exist. */
function difference(name: string, before: unknown, after: unknown): Record<string, unknown> {
  if (JSON.stringify(before) === JSON.stringify(after)) return {};
  return { [name]: { old: before ?? null, new: after ?? null } };
}
