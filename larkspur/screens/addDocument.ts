import type { FastifyInstance, FastifyRequest } from 'fastify';
import { listFolders, parseFolderPath, storeDocument } from '../charts/documents.ts';
import { rejectMergedChart } from '../charts/mergePatients.ts';
import { type Patient, patients } from '../charts/patients.ts';
import type { Context } from '../context.ts';
import { addHistory, fieldChanges } from '../records/history.ts';
import { getRecord } from '../records/recordKind.ts';
import { chartPath, type Html, html } from './html.ts';
import { errorAlert, type Frame, formToken, page } from './page.ts';
import { checkFormToken, frameFor, requireUser, sendPage } from './user.ts';

type DocumentRequest = { Params: { patientId: string } };

export const DOCUMENT_BYTES_MAX = 6 * 1024 * 1024;

/** Staff add a scanned or received file to a chart. */
export function serveAddDocument(app: FastifyInstance, context: Context): void {
  const { sql } = context;

  app.get<DocumentRequest>('/patients/:patientId/documents/new', async (request, reply) => {
    const user = await requireUser(context, request);
    const patient = await getRecord(sql, patients, request.params.patientId);
    const folders = await listFolders(sql, patient.patientId);
    return sendPage(reply, documentPage(await frameFor(context, user), patient, { folders, folder: '', notes: '' }));
  });

  app.post<DocumentRequest>('/patients/:patientId/documents/new', async (request, reply) => {
    const user = await requireUser(context, request);
    const form = await readForm(request);
    checkFormToken(user, form.fields);
    const { patientId } = request.params;
    const { folder = '', notes = '' } = form.fields;
    const [folderPath, contentType] = [parseFolderPath(folder.trim()), detectType(form.content)];
    const error = findError({ ...form, folderPath, contentType });
    if (error !== undefined || folderPath === undefined || contentType === undefined) {
      const patient = await getRecord(sql, patients, patientId);
      const shown = { folders: await listFolders(sql, patientId), folder, notes, error };
      return sendPage(reply, documentPage(await frameFor(context, user), patient, shown), 422);
    }
    await sql.begin(async (tx) => {
      await rejectMergedChart(tx, patientId);
      const at = context.now();
      const stored = await storeDocument(tx, {
        ...{ patientId, folderPath, contentType, fileName: form.file_name, content: form.content },
        notes: notes.trim().slice(0, 1000) || null,
        reviewedFlag: 'N',
        priority: 'N',
        assignedTo: null,
        templateName: null,
        createdAt: at,
        referralId: null,
        createdBy: user.session.displayName,
        externalRef: null,
      });
      await addHistory(tx, user.session.displayName, at, fieldChanges([stored]));
    });
    return reply.redirect(`${chartPath(patientId)}#documents`, 303);
  });
}

type Form = { fields: Record<string, string>; file_name: string; content: Buffer; truncated: boolean };

async function readForm(request: FastifyRequest): Promise<Form> {
  const form: Form = { fields: {}, file_name: '', content: Buffer.alloc(0), truncated: false };
  for await (const part of request.parts()) {
    if (part.type === 'field') {
      form.fields[part.fieldname] = String(part.value);
      continue;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of part.file) chunks.push(chunk);
    form.content = Buffer.concat(chunks);
    form.file_name = part.filename.trim().slice(0, 200);
    form.truncated = part.file.truncated;
  }
  return form;
}

/** By the first bytes, whatever the file is called. */
function detectType(content: Buffer): string | undefined {
  if (content.subarray(0, 5).toString('latin1') === '%PDF-') return 'application/pdf';
  if (content.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))) return 'image/jpeg';
  if (content.subarray(0, 4).equals(Buffer.from([0x89, 0x50, 0x4e, 0x47]))) return 'image/png';
  return undefined;
}

function findError(form: Form & { folderPath: string | undefined; contentType: string | undefined }) {
  if (form.content.length === 0 || form.file_name === '') return 'Not saved. Choose a file.';
  if (form.truncated) return `Not saved. The file is larger than ${DOCUMENT_BYTES_MAX / 1024 / 1024} MB.`;
  if (form.contentType === undefined) return 'Not saved. The file must be a PDF, a JPEG or a PNG.';
  if (form.folderPath === undefined) return 'Not saved. Enter a folder, such as Referrals/Cardiology.';
  return undefined;
}

type Shown = { folders: string[]; folder: string; notes: string; error?: string | undefined };

function documentPage(frame: Frame, patient: Patient, { folders, folder, notes, error }: Shown): Html {
  const chart = chartPath(patient.patientId);
  const name = `${patient.lastName}, ${patient.firstName}`;
  return page(
    frame,
    `Add a document for ${name}`,
    html`<p class="crumb"><a href="${chart}">${name}</a></p>
<h1>Add document</h1>
<section class="card narrow">
${errorAlert(error)}
<form method="post" action="${chart}/documents/new" enctype="multipart/form-data">
${formToken(frame.user?.form_token ?? '')}
<label for="folder">Folder</label>
<input id="folder" name="folder" value="${folder}" maxlength="500" list="folders" autocomplete="off" required>
<datalist id="folders">${folders.map((path) => html`<option value="${path}"></option>`)}</datalist>
<label for="file">File</label>
<input id="file" name="file" type="file" accept="application/pdf,image/jpeg,image/png" required>
<label for="notes">Notes</label>
<input id="notes" name="notes" value="${notes}" maxlength="1000" autocomplete="off">
<div class="row"><button>Save</button><a class="button quiet" href="${chart}">Cancel</a></div>
</form>
</section>`,
  );
}
