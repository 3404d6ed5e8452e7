const characters_max = 500;

/** What such answers are is text; a picture or an archive says nothing that can be read. */
const readable = /^(text\/|application\/(json|xml|problem\+json|x-www-form-urlencoded)|[^;]*\+(json|xml))/i;

/**
 * How a receiver's answer began, to be shown to a person: null where it said nothing, or nothing in words. Kept of
 * successes too: a receiver that answers 200 and says in the text that it could not use the event is a common fault,
 * and only the text shows it.
 */
export function snippetOf(body: Buffer, content_type: string | undefined): string | null {
  if (content_type !== undefined && content_type !== '' && !readable.test(content_type)) return null;
  // A character has at most 4 bytes, so the first 500 are whole in these.
  const text = body.subarray(0, characters_max * 4).toString('utf8');
  const shown = Array.from(text).slice(0, characters_max).join('');
  // PostgreSQL cannot store NUL, and a terminal or a page may obey the others; line breaks and tabs do no harm.
  const harmless = shown.replaceAll(/[^\P{Cc}\n\t]/gu, (control) => (control === '\r' ? '' : '\ufffd')).trim();
  return harmless === '' ? null : harmless;
}
