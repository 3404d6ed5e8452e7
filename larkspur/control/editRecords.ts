import type { FastifyInstance } from 'fastify';
import { patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { addHistory, type Change } from '../machine/history.ts';
import {
  changeRecord,
  createRecord,
  editSchema,
  getRecord,
  type RecordKind,
  removeRecord,
} from '../machine/recordKind.ts';
import { facilities } from '../practice/facilities.ts';
import { pharmacies } from '../practice/pharmacies.ts';
import { providers } from '../practice/providers.ts';
import { staff } from '../practice/staff.ts';

const kinds: RecordKind[] = [providers, staff, facilities, pharmacies, patients];

/** Lets a test change the practice from outside, in the words of the lists, as if the clinic had done it. */
export function serveRecordEdits(app: FastifyInstance, context: Context): void {
  for (const kind of kinds) {
    app.post<{ Body: Record<string, unknown> }>(
      `/control/${kind.table}`,
      { schema: { body: editSchema(kind, 'add') } },
      async (request, reply) => {
        const added = await edit(context, (sql, at) => createRecord(sql, kind, request.body, at));
        return reply.code(201).send(await getRecord(context.sql, kind, added.record_id));
      },
    );
    app.patch<{ Body: Record<string, unknown>; Params: { id: string } }>(
      `/control/${kind.table}/:id`,
      { schema: { body: editSchema(kind, 'change') } },
      async ({ body, params }) => {
        await edit(context, (sql, at) => changeRecord(sql, kind, params.id, body, at));
        return getRecord(context.sql, kind, params.id);
      },
    );
    app.delete<{ Params: { id: string } }>(`/control/${kind.table}/:id`, async ({ params }) => {
      await edit(context, (sql) => removeRecord(sql, kind, params.id));
      return { removed: params.id };
    });
  }
}

function edit({ sql, now }: Context, work: (sql: Query, at: Date) => Promise<Change>): Promise<Change> {
  return sql.begin(async (tx) => {
    const at = now();
    const change = await work(tx, at);
    await addHistory(tx, 'Control API', at, [change]);
    return change;
  }) as Promise<Change>;
}
