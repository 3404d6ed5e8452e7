/** A record of OpenEMR's API. Some of its lists return numbers as texts, others as numbers. */
export type Row = Record<string, unknown>;

export function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A value as text; null if it is absent or blank. */
export function field(row: Row, ...names: string[]): string | null {
  for (const name of names) {
    const value = row[name];
    if (typeof value === 'number') return String(value);
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
  }
  return null;
}

/** A flag; undefined if the record does not have it. */
export function flag(row: Row, name: string): boolean | undefined {
  const value = field(row, name);
  return value === null ? undefined : !['0', 'false', 'no'].includes(value.toLowerCase());
}
