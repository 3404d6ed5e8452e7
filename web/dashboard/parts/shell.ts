/** In single quotes a shell interprets nothing; a quote itself is written outside of them. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
