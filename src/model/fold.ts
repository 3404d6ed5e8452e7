/**
 * Normalizes a name for comparison: compatibility decomposition, marks and invisible characters removed, case folded,
 * apostrophes removed, hyphens as blanks, blanks collapsed. Every comparison of names uses it, so that a name that one
 * part of the service finds is found by all of them. A change of the rule needs a migration of the columns that hold
 * folded names.
 */
export function fold(name: string): string {
  return (
    name
      // Before the decomposition, which turns some apostrophes into a blank and a mark.
      .replace(apostrophes, '')
      .normalize('NFKD')
      .replace(/\p{M}/gu, '')
      // Again: the decomposition of a ligature may contain one.
      .replace(apostrophes, '')
      .replace(hyphens, ' ')
      .replace(invisible, '')
      // Upper case first: ß becomes ss.
      .toUpperCase()
      .toLowerCase()
      .replaceAll('ς', 'σ')
      .replace(/\s+/gu, ' ')
      .trim()
  );
}

/** Several names may be in one index entry, which is limited to 2,700 bytes: up to four for each character. */
const indexed_max = 300;

/** A name as a column that is searched for parts of it. */
export function nameColumn(name: string | null): string {
  // PostgreSQL refuses half of a character that has two code units.
  return fold(name ?? '')
    .slice(0, indexed_max)
    .replace(/[\ud800-\udbff]$/, '');
}

/**
 * A name to search for; null if nothing is left after normalization, such as for a lone accent. Nothing matches null,
 * whereas the empty text is part of every name.
 */
export function toNeedle(name: string | null | undefined): string | null {
  const folded = fold(name ?? '');
  return folded === '' ? null : folded;
}

/** Whether two names are equal as a whole. A name without letters equals none. */
export function isSameName(a: string | null | undefined, b: string | null | undefined): boolean {
  const needle = toNeedle(a);
  return needle !== null && needle === toNeedle(b);
}

/**
 * Apostrophes, primes, half rings and the spacing accents that are typed instead of them. Listed, not by property: the
 * properties of a character depend on the version of Unicode, and stored names must stay comparable.
 */
const apostrophes =
  /['`\u00b4\u02b9-\u02c0\u02c8\u02ca\u02cb\u02ee\u0374\u0384\u055a\u05f3\u07f4\u07f5\u1fbd\u1fbf\u1fef\u1ffd\u1ffe\u2018\u2019\u201b\u2032\u2035\u275b\u275c\ua78b\ua78c\uff07\uff40]/gu;
const hyphens =
  /[-\u00ad\u02d7\u058a\u05be\u1400\u1806\u2010-\u2015\u2043\u2212\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u2e5d\u301c\u3030\u30a0\ufe31\ufe32\ufe58\ufe63\uff0d]/gu;
/** Characters without a shape: joiners, zero-width spaces, directional marks. */
const invisible = /[\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/gu;
