/** Our markers, as the product makes them: the id of the operation, and the name of the step. */
const marker_pattern = /[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}-[a-z0-9_]+/g;

/** A text that ends with our marker, for EMRs that have no other place for it. Null lines are left out. */
export function withTextMarker(lines: readonly (string | null)[], marker: string): string {
  return [...lines, marker].filter((line) => line !== null && line !== '').join('\n');
}

/** The last one: people may quote another one before it. */
export function readTextMarker(text: string | null): string | undefined {
  return text?.match(marker_pattern)?.at(-1);
}

/** The text as somebody wrote it. Null if nothing is left. */
export function withoutTextMarker(text: string | null): string | null {
  const marker = readTextMarker(text);
  const written = text ?? '';
  if (marker === undefined) return written.trim() || null;
  const at = written.lastIndexOf(marker);
  return (written.slice(0, at) + written.slice(at + marker.length)).trim() || null;
}
