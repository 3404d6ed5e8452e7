import type { Fragment, Query } from '../database/open.ts';
import { EmrError } from '../errors.ts';
import type { RecordChange } from '../records/history.ts';
import type { Page } from '../records/recordKind.ts';

export interface Document {
  documentId: string;
  patientId: string;
  folderPath: string;
  fileName: string;
  contentType: string;
  sizeBytes: number;
  notes: string | null;
  reviewedFlag: 'Y' | 'N';
  priority: 'H' | 'N';
  assignedTo: string | null;
  templateName: string | null;
  /** The referral that it belongs to, if it belongs to one. */
  referralId: string | null;
  createdAt: Date;
  createdBy: string;
}

/** A document to add. `externalRef`: the reference of the API caller, null for one that staff add on a screen. */
type NewDocument = Omit<Document, 'documentId' | 'sizeBytes'> & { content: Buffer; externalRef: string | null };

/** Stores a document in a folder, which is created where it does not exist. */
export async function storeDocument(sql: Query, document: NewDocument): Promise<RecordChange> {
  const { patientId, createdAt, createdBy, content, externalRef, ...fields } = document;
  const shown = { ...fields, sizeBytes: content.length };
  await createFolders(sql, patientId, document.folderPath);
  const id = await addDocument(sql, { ...shown, patientId, createdAt, createdBy, content, externalRef });
  return { record: 'document', record_id: id, patient_id: patientId, after: shown };
}

export async function addDocument(
  sql: Query,
  document: Omit<Document, 'documentId'> & { content: Buffer; externalRef?: string | null },
): Promise<string> {
  const [added] = await sql<{ documentId: string }[]>`
    insert into documents ${sql.values(document)} returning document_id`;
  return added?.documentId ?? '';
}

/** The documents of all charts that were added at or after an instant, oldest first. */
export async function listAddedDocuments(sql: Query, addedSince: string, { page, pageSize }: Page) {
  const filter = sql`created_at >= ${addedSince}::text::timestamptz`;
  const [counted] = await sql<{ total: number }[]>`select count(*)::int as total from documents where ${filter}`;
  const rows = await sql<(Document & { externalRef: string | null })[]>`
    select ${columns(sql)}, external_ref from documents where ${filter}
    order by created_at, length(document_id), document_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function listDocuments(sql: Query, patientId: string, { page, pageSize }: Page) {
  const [counted] = await sql<{ total: number }[]>`
    select count(*)::int as total from documents where patient_id = ${patientId}`;
  const rows = await sql<Document[]>`
    select ${columns(sql)} from documents where patient_id = ${patientId}
    order by length(document_id), document_id limit ${pageSize} offset ${(page - 1) * pageSize}`;
  return { total: counted?.total ?? 0, page, pageSize, rows: [...rows] };
}

export async function getDocument(
  sql: Query,
  patientId: string,
  documentId: string,
): Promise<Document & { content: Buffer }> {
  const [document] = await sql<(Document & { content: Buffer })[]>`
    select ${columns(sql)}, content from documents where patient_id = ${patientId} and document_id = ${documentId}`;
  if (!document) throw new EmrError('NOT_FOUND', `No document with id '${documentId}'.`);
  return document;
}

/** Creates a folder and its parents where they do not exist. */
export async function createFolders(sql: Query, patientId: string, path: string): Promise<void> {
  const parts = path.split('/');
  const paths = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
  await sql`
    insert into folders (patient_id, path) select ${patientId}, unnest(${paths}::text[]) on conflict do nothing`;
}

export async function listFolders(sql: Query, patientId: string): Promise<string[]> {
  const rows = await sql<{ path: string }[]>`
    select path from folders where patient_id = ${patientId} order by path`;
  return rows.map((row) => row.path);
}

/** Normalizes 'A / B/' to 'A/B'. Returns undefined if a folder name is empty or only dots. */
export function parseFolderPath(path: string): string | undefined {
  const parts = path.split('/').map((part) => part.trim());
  if (parts.at(-1) === '') parts.pop();
  return parts.length > 0 && parts.every((part) => /[^.]/.test(part)) ? parts.join('/') : undefined;
}

function columns(sql: Query): Fragment {
  return sql`document_id, patient_id, folder_path, file_name, content_type, size_bytes, notes, reviewed_flag, priority,
    assigned_to, template_name, referral_id, created_at, created_by`;
}
