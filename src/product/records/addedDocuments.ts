import { EmrFailure } from '../../emr/emrFailure.ts';
import type { EmrDocument } from '../../emr/operations/documents.ts';
import type { Operations } from '../../emr/operations/operations.ts';
import type { SyncEventOf } from '../../model/events.ts';
import { patients } from '../../model/records/patients.ts';
import type { Tx } from '../../platform/db/database.ts';
import type { Context } from '../context.ts';
import type { Job } from '../jobs/jobs.ts';
import { type JobRun, whileLeased } from '../jobs/run.ts';
import { announce, announcesChanges, type OwnWrite, readOwnWrites } from './announceChanges.ts';
import { findErased } from './storeRecords.ts';
import { overlap_minutes } from './syncPasses.ts';

/**
 * Announces the documents that staff added since the last sync. Only their list is read, and only while an endpoint
 * receives such events. The first read, and the first one after a restore, announce nothing. The events commit with how
 * far was read, so that a sync that broke off announces each document once.
 */
export async function announceAddedDocuments(
  ctx: Context,
  run: JobRun,
  { listAddedDocuments }: Partial<Operations>,
): Promise<void> {
  if (!listAddedDocuments) return;
  const read = await whileLeased(ctx, run, (tx) => startRead(tx, run.job));
  if (!read) return;
  try {
    const listed = await listAddedDocuments(read.since);
    const announced = await whileLeased(ctx, run, async (tx) => {
      const { events, seen } = read.known
        ? await findStaffDocuments(ctx, tx, run.job, listed)
        : { events: [], seen: listed };
      await announce(ctx, tx, run.job, events);
      await finishRead(tx, run.job, read.started_at, seen);
      return events.length;
    });
    if (announced === 0) return;
    ctx.notifications.notify('chartwire_deliveries', run.job.client_id);
    await run.steps.note('documents', { added: announced });
  } catch (error) {
    if (!(error instanceof EmrFailure && ['refused', 'not_found'].includes(error.kind))) throw error;
    await run.steps.note('documents', { refused: error.message });
  }
}

type DocumentRead = { started_at: string; since: string; known: boolean };

/** Undefined if no endpoint receives the events. What is added until one does is never announced. */
async function startRead(tx: Tx, { organization_id }: Job): Promise<DocumentRead | undefined> {
  if (!(await announcesChanges(tx, organization_id))) {
    await tx`DELETE FROM document_passes WHERE organization_id = ${organization_id}`;
    return undefined;
  }
  const [read] = await tx<DocumentRead[]>`
    SELECT iso(now()) AS started_at,
           iso(coalesce(read_as_of, now()) - make_interval(mins => ${overlap_minutes})) AS since,
           read_as_of IS NOT NULL AND NOT EXISTS (SELECT FROM restores WHERE restored_at > read_as_of) AS known
      FROM (SELECT) AS one LEFT JOIN document_passes ON organization_id = ${organization_id}`;
  return read;
}

async function finishRead(
  tx: Tx,
  { client_id, organization_id }: Job,
  started_at: string,
  seen: readonly EmrDocument[],
) {
  const ids = seen.map(({ ehr_id }) => ehr_id);
  await tx`INSERT INTO document_passes (organization_id, client_id, read_as_of, listed_ids)
    VALUES (${organization_id}, ${client_id}, ${started_at}::text::timestamptz, ${ids})
    ON CONFLICT (organization_id) DO UPDATE SET read_as_of = excluded.read_as_of, listed_ids = excluded.listed_ids`;
}

/**
 * The documents that are new, not ours, and of a patient that is stored. A patient who was added since the sync read the
 * patients is stored by the next one, which lists the document again.
 */
async function findStaffDocuments(
  ctx: Context,
  tx: Tx,
  job: Job,
  listed: readonly EmrDocument[],
): Promise<{ events: SyncEventOf[]; seen: readonly EmrDocument[] }> {
  const { client_id, organization_id } = job;
  const [pass] = await tx<{ listed_ids: string[] }[]>`
    SELECT listed_ids FROM document_passes WHERE organization_id = ${organization_id} FOR UPDATE`;
  const known = new Set(pass?.listed_ids);
  const unseen = listed.filter(({ ehr_id }) => !known.has(ehr_id));
  if (unseen.length === 0) return { events: [], seen: listed };
  const charts = await tx<{ ehr_id: string; mrn: string }[]>`SELECT ehr_id, mrn FROM patients
    WHERE organization_id = ${organization_id} AND ehr_id = ANY (${unseen.map((each) => each.patient_ehr_id)})`;
  const mrns = new Map(charts.map(({ ehr_id, mrn }) => [ehr_id, mrn]));
  const isErased = await findErased(ctx, tx, { client_id, organization_id, kind: patients });
  const own = await readOwnWrites(tx, organization_id);
  const operations = await findOperations(tx, organization_id, unseen);
  const events = unseen.flatMap((document): SyncEventOf[] => {
    const mrn = mrns.get(document.patient_ehr_id);
    if (mrn === undefined || isErased({ ehr_id: document.patient_ehr_id, mrn })) return [];
    if (isOwn(document, mrn, { own, operations })) return [];
    const { ehr_id: emr_document_id, folder: folder_name, file_name, content_type, added_at } = document;
    const data = { emr_document_id, patient_mrn: mrn, folder_name, file_name, content_type, added_at };
    return [{ type: 'document.added', data: { source: 'emr', ...data } }];
  });
  return { events, seen: listed.filter(({ ehr_id, patient_ehr_id }) => known.has(ehr_id) || mrns.has(patient_ehr_id)) };
}

/** The operations of this organization whose markers the documents have. A marker starts with the operation's id. */
async function findOperations(tx: Tx, organization_id: string, documents: readonly EmrDocument[]) {
  const ids = documents
    .flatMap(({ markers = [] }) => markers.map(toOperationId))
    .filter((id) => /^[0-9a-f]{32}$/.test(id));
  const rows = await tx<{ id: string }[]>`SELECT replace(id::text, '-', '') AS id FROM operations
    WHERE organization_id = ${organization_id} AND id = ANY (${ids}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}

function toOperationId(marker: string): string {
  return marker.slice(0, 32);
}

/** If the EMR keeps no markers, an upload that has not ended may be any document in the same folder of the chart. */
function isOwn(
  { ehr_id, markers, folder }: EmrDocument,
  mrn: string,
  { own, operations }: { own: readonly OwnWrite[]; operations: ReadonlySet<string> },
): boolean {
  if (markers?.some((marker) => operations.has(toOperationId(marker)))) return true;
  return own.some(({ input, open, ehr_ids }) => {
    if (ehr_ids.includes(ehr_id)) return true;
    // Only an upload has a folder.
    const uploads = open && markers === undefined && input.folder_name !== undefined;
    return uploads && input.patient_mrn === mrn && input.folder_name === folder;
  });
}
