/**
 * Normalizes a name for comparison: compatibility decomposition, marks removed, case folded, spaces collapsed. Every
 * comparison of names uses it, so that a name that one part of the service finds is found by all of them.
 */
export function fold(name: string): string {
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

/**
 * A name to search for; null if nothing is left after normalization, such as for a lone accent. Nothing matches null,
 * whereas the empty text is part of every name.
 */
export function needleOf(name: string | null | undefined): string | null {
  return fold(name ?? '').trim() === '' ? null : fold(name ?? '');
}
