import type { ObservedFacts, ServerFacts } from './capabilities.ts';

/** Refusals that may end without a new version of the server: of rights, and by its errors. */
const passing_statuses = new Set([403, 500]);
const refusal_age_max_ms = 24 * 60 * 60_000;

/**
 * The observations that remain valid after the capability statement is read again: none if the server has a new version.
 * `retry_refused` drops those that withdraw an operation or a field.
 */
export function observedFacts(
  previous: ServerFacts | undefined,
  facts: ServerFacts,
  { now_ms, retry_refused }: { now_ms: number; retry_refused: boolean },
): ObservedFacts {
  if (!previous || previous.software !== facts.software) return {};
  const { books_by_slot, documents, hidden_locations, bare_updates } = previous;
  const {
    refused = {},
    failing_updates,
    dropped_extensions,
    refused_export,
  }: ObservedFacts = retry_refused ? {} : previous;
  const lasting = Object.entries(refused).flatMap(([type, interactions]) => {
    const kept = Object.entries(interactions).filter(
      ([, { status, at_ms }]) => !passing_statuses.has(status) || now_ms - at_ms < refusal_age_max_ms,
    );
    return kept.length === 0 ? [] : [[type, Object.fromEntries(kept)]];
  });
  return {
    ...(lasting.length > 0 && { refused: Object.fromEntries(lasting) }),
    ...(failing_updates && { failing_updates }),
    ...(books_by_slot && { books_by_slot }),
    ...(documents && { documents }),
    ...(dropped_extensions && { dropped_extensions }),
    ...(hidden_locations && { hidden_locations }),
    ...(bare_updates && { bare_updates }),
    ...(refused_export && now_ms - refused_export.at_ms < refusal_age_max_ms && { refused_export }),
  };
}
