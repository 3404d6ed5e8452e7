import { expect } from 'vitest';
import type { Answer } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';

/** A record as it stands on the wire of either house; each test looks for what its row names. */
export type Row = Answer['body'];
type World = Pick<TestSandbox, 'api'>;

/** What the clinic itself has: the truth that the service's answers are held against. */
export async function clinicRows(world: World, kind: string, query: Record<string, string> = {}): Promise<Row[]> {
  const { status, body } = await world.api.control('GET', `/control/${kind}?${new URLSearchParams(query)}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.rows;
}

/** Adds a record as if the clinic had; the answer is the whole record. */
export async function addClinicRow(world: World, kind: string, values: object): Promise<Row> {
  const { status, body } = await world.api.control('POST', `/control/${kind}`, values);
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

export async function changeClinicRow(world: World, kind: string, id: string, values: object): Promise<Row> {
  const { status, body } = await world.api.control('PATCH', `/control/${kind}/${id}`, values);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** The clinic's `MM/DD/YYYY` as `YYYY-MM-DD`. */
export function isoDay(day: string): string {
  const [month, date, year] = day.split('/');
  return `${year}-${month}-${date}`;
}

/** Fields of these names are texts wherever the clinic has a value, and null where it has none. */
export function expectTexts(records: Row[], ...names: string[]): void {
  expect(records.length).toBeGreaterThan(0);
  for (const record of records) {
    for (const name of names) {
      expect(record, name).toHaveProperty(name);
      if (record[name] !== null) expect(record[name], name).toBeTypeOf('string');
    }
  }
}
