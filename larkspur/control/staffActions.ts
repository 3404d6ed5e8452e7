import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { storeDocument } from '../charts/documents.ts';
import { mergePatients } from '../charts/mergePatients.ts';
import { patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import type { Query } from '../database/open.ts';
import { addHistory, fieldChanges, type RecordChange } from '../records/history.ts';
import { getRecord } from '../records/recordKind.ts';

const by = 'Control API';

/** What staff do on screens that is more than an edit of one record. */
export function serveStaffActions(app: FastifyInstance, { sql, now }: Context): void {
  app.post<{ Params: { id: string }; Body: { intoPatientId: string } }>(
    '/control/patients/:id/merge',
    { schema: { body: mergeBody } },
    async ({ params, body }) => {
      await act(async (tx, at) => mergePatients(tx, params.id, body.intoPatientId, at));
      return getRecord(sql, patients, params.id);
    },
  );

  app.post<{ Params: { id: string }; Body: { folderPath: string; fileName: string; text: string } }>(
    '/control/patients/:id/documents',
    { schema: { body: documentBody } },
    async ({ params, body: { folderPath, fileName, text } }, reply) => {
      await getRecord(sql, patients, params.id);
      const [stored] = await act(async (tx, at) => [
        await storeDocument(tx, {
          ...{ patientId: params.id, folderPath, fileName, contentType: 'application/pdf', content: Buffer.from(text) },
          ...{ notes: null, reviewedFlag: 'N', priority: 'N', assignedTo: null, templateName: null },
          ...{ createdAt: at, createdBy: by, externalRef: null, referralId: null },
        }),
      ]);
      return reply.code(201).send({ documentId: stored?.record_id });
    },
  );

  function act(work: (tx: Query, at: Date) => Promise<RecordChange[]>): Promise<RecordChange[]> {
    return sql.begin(async (tx) => {
      const at = now();
      const changes = await work(tx, at);
      await addHistory(tx, by, at, fieldChanges(changes));
      return changes;
    }) as Promise<RecordChange[]>;
  }
}

const mergeBody = Type.Object({ intoPatientId: Type.String({ minLength: 1 }) }, { additionalProperties: false });
const documentBody = Type.Object(
  {
    folderPath: Type.String({ pattern: '^[^/]+(/[^/]+)*$', maxLength: 500 }),
    fileName: Type.String({ minLength: 1, maxLength: 200 }),
    /** The content of the file. */
    text: Type.String({ minLength: 1 }),
  },
  { additionalProperties: false },
);
