import { expect } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import type { TestSandbox } from '../../harness/sandbox.ts';

/** A record of the service or of Larkspur, as JSON. */
export type Row = ApiResponse['body'];
type Fixture = Pick<TestSandbox, 'api'>;

/** The records of the clinic, read from Larkspur's control API. */
export async function clinicRows(fixture: Fixture, kind: string, query: Record<string, string> = {}): Promise<Row[]> {
  const { status, body } = await fixture.api.control('GET', `/control/${kind}?${new URLSearchParams(query)}`);
  expect(status, JSON.stringify(body)).toBe(200);
  return body.rows;
}

/** Adds a record in Larkspur and returns all of it. */
export async function addClinicRow(fixture: Fixture, kind: string, values: object): Promise<Row> {
  const { status, body } = await fixture.api.control('POST', `/control/${kind}`, values);
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

export async function changeClinicRow(fixture: Fixture, kind: string, id: string, values: object): Promise<Row> {
  const { status, body } = await fixture.api.control('PATCH', `/control/${kind}/${id}`, values);
  expect(status, JSON.stringify(body)).toBe(200);
  return body;
}

/** Converts Larkspur's `MM/DD/YYYY` to `YYYY-MM-DD`. */
export function isoDay(day: string): string {
  const [month, date, year] = day.split('/');
  return `${year}-${month}-${date}`;
}

/** Checks that these fields are strings, or null where the clinic has no value. */
export function expectTexts(records: Row[], ...names: string[]): void {
  expect(records.length).toBeGreaterThan(0);
  for (const record of records) {
    for (const name of names) {
      expect(record, name).toHaveProperty(name);
      if (record[name] !== null) expect(record[name], name).toBeTypeOf('string');
    }
  }
}
