/** Names as they are compared: without case and without accents. */
export function fold(name: string): string {
  return name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}

/** What LIKE finds a part of a folded name by, in which nothing is a wildcard but its ends. */
export function partOf(text: string): string {
  return `%${fold(text).replace(/[\\%_]/g, '\\$&')}%`;
}
