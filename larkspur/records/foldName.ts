/**
 * Normalizes a name for comparison: compatibility decomposition, marks removed, case folded, spaces collapsed. Done here
 * and not in SQL: what `lower` does with accents depends on the database's locale.
 */
export function foldName(name: string): string {
  return (
    name
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      // Upper case first: ß becomes ss.
      .toUpperCase()
      .toLowerCase()
      .replaceAll('ς', 'σ')
      .replace(/\s+/gu, ' ')
      .trim()
  );
}

/** Whether every term of a search occurs in one of the texts. */
export function matchesSearch(search: string, texts: (string | null)[]): boolean {
  const searched = foldName(texts.filter((text) => text !== null).join(' '));
  return search
    .split(/[\s,]+/)
    .filter((term) => term !== '')
    .every((term) => foldName(term) !== '' && searched.includes(foldName(term)));
}
