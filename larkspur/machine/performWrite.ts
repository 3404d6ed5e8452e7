import type { Fault } from './faults.ts';
import { addHistory, type FieldChange, fieldChanges } from './history.ts';
import { labelOf } from './labelOf.ts';
import { addLedgerEntry, type Received } from './ledger.ts';
import type { Call, WriteOperation } from './operation.ts';
import { claimReference, fileReceipt } from './receipts.ts';

interface Correction {
  field: string;
  sent: unknown;
  saved: unknown;
  note: string;
}

export interface WriteAnswer {
  recordId: string;
  /** Of the chart that a new patient was given. */
  mrn?: string;
  corrections: Correction[];
  changes: { record: string; field: string; label: string; before: string | null; after: string | null }[];
}

/**
 * Record, history, receipt and ledger entry commit together or not at all. What was refused is entered in the ledger
 * afterwards, on its own: the ledger is the witness of every write that came in.
 */
export async function performWrite(
  operation: WriteOperation,
  call: Call<unknown, unknown, unknown>,
  received: Received,
  fault: Fault | undefined,
): Promise<WriteAnswer> {
  const { context, session } = call;
  const marker = received.marker ?? '';
  const { body, corrections } = correct(call.body, fault);
  try {
    return await context.sql.begin(async (sql) => {
      await claimReference(sql, operation.name, marker, received.at);
      const written = await operation.write({ ...call, sql, body });
      const changes = fieldChanges(written.changes);
      await addHistory(sql, session.displayName, received.at, changes);
      await addLedgerEntry(sql, { ...received, patientMrn: received.patientMrn ?? written.mrn ?? null }, true);
      const mrn = written.mrn === undefined ? {} : { mrn: written.mrn };
      const answer = { ...mrn, corrections, changes: changes.map(labelled) };
      await fileReceipt(sql, operation.name, marker, written.record_id, answer);
      return { recordId: written.record_id, ...answer };
    });
  } catch (error) {
    await addLedgerEntry(context.sql, received, false);
    throw error;
  }
}

function correct(body: unknown, fault: Fault | undefined): { body: unknown; corrections: Correction[] } {
  if (fault?.kind !== 'correct_value' || fault.field === null) return { body, corrections: [] };
  const values = body as Record<string, unknown>; // the body passed its schema, and every write's schema is an object
  const { field, value } = fault;
  const note = fault.reason ?? `${field} was corrected by Larkspur.`;
  return { body: { ...values, [field]: value }, corrections: [{ field, sent: values[field], saved: value, note }] };
}

function labelled({ record, field, before, after }: FieldChange): WriteAnswer['changes'][number] {
  return { record, field, label: labelOf(field), before, after };
}
