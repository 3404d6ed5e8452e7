import { rejectMergedChart } from '../charts/mergePatients.ts';
import type { Query } from '../database/open.ts';
import { addHistory, type FieldChange, fieldChanges, fieldLabel } from '../records/history.ts';
import type { Fault } from './faults.ts';
import type { Call, WriteOperation } from './operation.ts';
import { claimReference, completeReceipt, type ReceivedWrite, recordApplied, recordNotApplied } from './receipts.ts';

interface Correction {
  field: string;
  sent: unknown;
  saved: unknown;
  note: string;
}

export interface WriteResponse {
  recordId: string;
  /** The MRN of the new chart, if the write created one. */
  mrn?: string;
  corrections: Correction[];
  changes: { record: string; field: string; label: string; before: string | null; after: string | null }[];
}

/**
 * Commits record, history, receipt and ledger entry in one transaction. A write that fails gets its ledger entry in a
 * separate statement afterwards, because the ledger lists every write received.
 */
export async function performWrite(
  operation: WriteOperation,
  call: Call<unknown, unknown, unknown>,
  received: ReceivedWrite,
  fault: Fault | undefined,
): Promise<WriteResponse> {
  const { context, session } = call;
  const marker = received.marker ?? '';
  const { body, corrections } = applyCorrection(call.body, fault);
  try {
    return await context.sql.begin('BEGIN', async (sql) => {
      // Statements that do not need each other's results share a round trip.
      const [mrnBefore] = await Promise.all([
        received.findMrn(sql),
        claimReference(sql, operation.name, marker, received.at),
      ]);
      await checkChart(sql, call);
      const written = await operation.write({ ...call, sql, body });
      const changes = fieldChanges(written.changes);
      const mrn = written.mrn === undefined ? {} : { mrn: written.mrn };
      const response = { ...mrn, corrections, changes: changes.map(withLabel) };
      const { record_id: recordId } = written;
      await Promise.all([
        addHistory(sql, session.displayName, received.at, changes),
        recordApplied(sql, received, mrnBefore ?? written.mrn),
        completeReceipt(sql, { operation: operation.name, externalRef: marker, recordId, answer: response }),
      ]);
      return { recordId, ...response };
    });
  } catch (error) {
    await recordNotApplied(context.sql, received);
    throw error;
  }
}

/** The response that a write would get. It is rolled back, with no receipt, history or ledger entry. */
export async function validateWrite(
  operation: WriteOperation,
  call: Call<unknown, unknown, unknown>,
  fault: Fault | undefined,
): Promise<WriteResponse> {
  const { body, corrections } = applyCorrection(call.body, fault);
  let response: WriteResponse | undefined;
  const rolled_back = new Error('Only validated.');
  try {
    await call.context.sql.begin('BEGIN', async (sql) => {
      await checkChart(sql, call);
      const { record_id: recordId, mrn, changes } = await operation.write({ ...call, sql, body });
      response = { recordId, ...(mrn && { mrn }), corrections, changes: fieldChanges(changes).map(withLabel) };
      throw rolled_back;
    });
  } catch (error) {
    if (error !== rolled_back || !response) throw error;
  }
  if (!response) throw new Error('A write has no response.');
  return response;
}

/** The chart that the path or the body of a write names must be in use. */
async function checkChart(sql: Query, { params, body }: Call<unknown, unknown, unknown>): Promise<void> {
  const { patientId } = { ...(body as object), ...(params as object) } as { patientId?: string };
  if (patientId !== undefined) await rejectMergedChart(sql, patientId);
}

function applyCorrection(body: unknown, fault: Fault | undefined): { body: unknown; corrections: Correction[] } {
  if (fault?.kind !== 'correct_value' || fault.field === null) return { body, corrections: [] };
  const values = body as Record<string, unknown>; // the body passed its schema, and every write's schema is an object
  const { field, value } = fault;
  const note = fault.reason ?? `Larkspur corrected ${field}.`;
  return { body: { ...values, [field]: value }, corrections: [{ field, sent: values[field], saved: value, note }] };
}

function withLabel({ record, field, before, after }: FieldChange): WriteResponse['changes'][number] {
  return { record, field, label: fieldLabel(field), before, after };
}
