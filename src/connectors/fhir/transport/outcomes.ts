import type * as fhir from 'fhir/r4.js';

/**
 * What a server says of a refusal, in its own words, where they are words: not the trace of a program, not a page, not
 * an address. Undefined where nothing fit to be shown is left.
 */
export function refusalWords(outcome: fhir.OperationOutcome | undefined): string | undefined {
  const issues = Array.isArray(outcome?.issue) ? outcome.issue : [];
  const said = issues
    .filter((issue) => issue?.severity === 'error' || issue?.severity === 'fatal')
    .map((issue) => shown(issue.details?.text) ?? shown(issue.diagnostics))
    .filter((words) => words !== undefined);
  return said.length === 0 ? undefined : `The EMR refused: ${[...new Set(said)].slice(0, 3).join('; ')}`;
}

const words_max = 300;

function shown(text: unknown): string | undefined {
  if (
    typeof text !== 'string' ||
    /<\/?\w|\bat [\w$.<>]+\(|\w+(Exception|Error)\b|https?:|\bselect\b.+\bfrom\b/i.test(text)
  ) {
    return undefined;
  }
  const clean = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return clean === '' ? undefined : [...clean].slice(0, words_max).join('');
}
