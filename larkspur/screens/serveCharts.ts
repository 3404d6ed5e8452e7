import type { FastifyInstance } from 'fastify';
import { type Document, getDocument } from '../charts/documents.ts';
import { patientSearch, patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import { addHistory, fieldChanges } from '../machine/history.ts';
import { changeRecord, getRecord, listRecords } from '../machine/recordKind.ts';
import { chartPage } from './chartPage.ts';
import { contactForm, readContactForm } from './contactForm.ts';
import { editPage } from './editPage.ts';
import { pageNumber } from './parts.ts';
import { patientsPage } from './patientsPage.ts';
import { readChart } from './readChart.ts';
import { checkForm, frameFor, sendPage, visitorOf } from './visitor.ts';

const PAGE_SIZE = 25;

type OfPatient = { Params: { patientId: string }; Body: Record<string, string> };

export function serveCharts(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<{ Querystring: { q?: string; page?: string } }>('/patients', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const words = String(request.query.q ?? '').slice(0, 100);
    const number = pageNumber(request.query.page);
    const list = await listRecords(sql, patients, { page: number, pageSize: PAGE_SIZE }, patientSearch(sql, words));
    return sendPage(reply, patientsPage(await frameFor(context, visitor), { words, ...list }));
  });

  app.get<OfPatient>('/patients/:patientId', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const chart = await readChart(context, request.params.patientId);
    return sendPage(reply, chartPage(await frameFor(context, visitor), chart));
  });

  app.get<{ Params: { patientId: string; documentId: string } }>(
    '/patients/:patientId/documents/:documentId',
    async (request, reply) => {
      await visitorOf(context, request);
      const document = await getDocument(sql, request.params.patientId, request.params.documentId);
      return reply.headers(downloadHeaders(document)).send(document.content);
    },
  );

  app.get<OfPatient>('/patients/:patientId/edit', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    const patient = await getRecord(sql, patients, request.params.patientId);
    return sendPage(reply, editPage(await frameFor(context, visitor), patient, contactForm(patient)));
  });

  app.post<OfPatient>('/patients/:patientId/edit', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    checkForm(visitor, request.body);
    const { patientId } = request.params;
    const { form, errors, values } = readContactForm(request.body);
    if (Object.keys(errors).length > 0) {
      const patient = await getRecord(sql, patients, patientId);
      return sendPage(reply, editPage(await frameFor(context, visitor), patient, form, errors), 422);
    }
    await sql.begin(async (tx) => {
      const at = context.now();
      const change = await changeRecord(tx, patients, patientId, values, at);
      await addHistory(tx, visitor.session.displayName, at, fieldChanges([change]));
    });
    return reply.redirect(`/patients/${encodeURIComponent(patientId)}`, 303);
  });
}

/** Whatever the file is called and holds, a browser saves it and runs nothing of it. */
function downloadHeaders({ fileName, contentType }: Document): Record<string, string> {
  const plain = fileName.replace(/[^A-Za-z0-9._ -]/g, '_');
  const exact = encodeURIComponent(fileName.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16)}`,
  );
  return {
    'content-type': contentType,
    'content-disposition': `attachment; filename="${plain}"; filename*=UTF-8''${exact}`,
    'content-security-policy': "default-src 'none'; sandbox",
  };
}
