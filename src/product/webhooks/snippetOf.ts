const characters_max = 500;

/** Media types shown as text. */
const readable = /^(text\/|application\/(json|xml|problem\+json|x-www-form-urlencoded)|[^;]*\+(json|xml))/i;

/**
 * The start of a receiver's response, for display; null if it is empty or not text. Kept for successes too: receivers
 * that respond 200 with an error message in the body are common.
 */
export function snippetOf(body: Buffer, content_type: string | undefined): string | null {
  if (content_type !== undefined && content_type !== '' && !readable.test(content_type)) return null;
  // A character has at most 4 bytes.
  const text = body.subarray(0, characters_max * 4).toString('utf8');
  const shown = Array.from(text).slice(0, characters_max).join('');
  // PostgreSQL cannot store NUL, and terminals interpret other control characters. Line breaks and tabs are kept.
  const harmless = shown.replaceAll(/[^\P{Cc}\n\t]/gu, (control) => (control === '\r' ? '' : '\ufffd')).trim();
  return harmless === '' ? null : harmless;
}
