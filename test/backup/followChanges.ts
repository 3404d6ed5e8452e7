import { expect } from 'vitest';
import type { Api } from '../harness/api.ts';

/** Reads the change feed to its end. Returns the cursor, and the ids of all records that it showed. */
export async function followChanges(api: Api): Promise<{ cursor: string; ids: Set<string> }> {
  const ids = new Set<string>();
  for (let cursor = ''; ; ) {
    const { body } = await api.call('GET', `/v1/changes?limit=1000&cursor=${cursor}`);
    for (const { id } of body.changes) ids.add(id);
    cursor = body.next_cursor;
    if (!body.has_more) return { cursor, ids };
  }
}

/** After a restore: what a reader has seen may be lost, so its cursor is rejected, and a new reader gets everything. */
export async function expectNewGeneration(api: Api, before: Awaited<ReturnType<typeof followChanges>>): Promise<void> {
  const { status, body } = await api.call('GET', `/v1/changes?cursor=${before.cursor}`);
  expect([status, body.code]).toStrictEqual([410, 'cursor_expired']);
  const { ids, cursor } = await followChanges(api);
  expect(ids).toStrictEqual(before.ids);
  expect((await api.call('GET', `/v1/changes?cursor=${cursor}`)).status).toBe(200);
}
