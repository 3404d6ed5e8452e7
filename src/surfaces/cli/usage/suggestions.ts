/** ` Did you mean 'created'?`, or nothing if no candidate is similar. */
export function suggest(text: string, candidates: Iterable<string>): string {
  const match = findSimilar(text, candidates);
  return match === undefined ? '' : ` Did you mean '${match}'?`;
}

/** The candidate that was probably meant: up to three edits, and at most 40 % of the text. */
function findSimilar(text: string, candidates: Iterable<string>): string | undefined {
  let best: { candidate: string; edits: number } | undefined;
  for (const candidate of candidates) {
    const edits = countEdits(text.toLowerCase(), candidate.toLowerCase());
    const length = Math.max(text.length, candidate.length);
    if (edits > 3 || edits > Math.max(length * 0.4, 1) || length < 2) continue;
    if (!best || edits < best.edits) best = { candidate, edits };
  }
  return best?.candidate;
}

/** Insertions, deletions, replacements, and neighbors that changed places. */
function countEdits(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? 0;
  for (let row = 1; row <= one.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = at(row - 1, column - 1) + (one[row - 1] === other[column - 1] ? 0 : 1);
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
          ? at(row - 2, column - 2) + 1
          : Number.POSITIVE_INFINITY;
      rows[row]?.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced, swapped));
    }
  }
  return at(one.length, other.length);
}
