/**
 * The URL that a text spells, or undefined if it spells none. `URL.canParse` is not used anywhere: in Node 20 and 22 it
 * returns false for texts with characters such as ü once it has been called often enough to be optimized.
 */
export function parseUrl(text: string, base?: string): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}
