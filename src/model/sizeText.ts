/** A number of bytes for people: `1.5 MB`, `340 KB`. Rounded down, because it is a limit. */
export function sizeText(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.floor(bytes / 1000)} KB`;
  return `${Math.floor(bytes / 100_000) / 10} MB`;
}
