import type { Fragment, Query } from '../database/open.ts';

/** What a write of the API created or changed, as the screens show it. */
export interface ApiEntry {
  kind: string;
  /** The id of the element that shows it, such as `encounter-810001`. */
  anchor: string;
  recordId: string;
  patientMrn: string | null;
}

/** The elements that show what an operation wrote. Operations that are not listed change nothing that a screen shows. */
const kinds: Record<string, string> = {
  create_patient: 'patient',
  update_patient: 'patient',
  set_responsible_party: 'patient',
  create_telephone_encounter: 'encounter',
  add_refill: 'encounter',
  add_telephone_action: 'encounter',
  create_appointment: 'appointment',
  update_appointment: 'appointment',
  upload_document: 'document',
  post_payment: 'payment',
  create_task: 'task',
  add_task_note: 'task',
  add_visit_note: 'visit-note',
  add_patient_note: 'patient-note',
  add_patient_insurance: 'insurance',
  update_patient_insurance: 'insurance',
  add_guarantor: 'guarantor',
  request_eligibility: 'eligibility-check',
  add_patient_pharmacy: 'pharmacy',
  create_claim: 'claim',
  create_referral: 'referral',
  add_referral_document: 'document',
};

/** How long an entry is marked as new. */
const NEW_MS = 24 * 60 * 60_000;

/** The anchors of what was written through the API within the last day. */
export async function listNewAnchors(sql: Query, now: Date): Promise<ReadonlySet<string>> {
  const since = new Date(now.getTime() - NEW_MS);
  const entries = toEntries(await readReceipts(sql, sql`received_at > ${since}`));
  return new Set(entries.map(({ anchor }) => anchor));
}

/** What was written with these references, in the order of the writes. */
export async function listEntries(sql: Query, externalRefs: string[]): Promise<ApiEntry[]> {
  return toEntries(await readReceipts(sql, sql`receipts.external_ref = any(${externalRefs})`));
}

interface ReceivedEntry {
  operation: string;
  recordId: string;
  patientMrn: string | null;
}

/** A refill or an action is shown with its encounter, a note of a task with the task. */
function readReceipts(sql: Query, filter: Fragment): Promise<ReceivedEntry[]> {
  return sql<ReceivedEntry[]>`
    select receipts.operation, ledger.patient_mrn,
      case receipts.operation
        when 'add_refill' then (select encounter_id from refills where refill_id = record_id)
        when 'add_telephone_action' then (select encounter_id from actions where action_id = record_id)
        when 'add_task_note' then (select task_id from task_notes where task_note_id = record_id)
        when 'add_patient_pharmacy' then (
          select pharmacy_id from patient_pharmacies where patient_pharmacy_id = record_id)
        else record_id
      end as record_id
    from receipts left join ledger
      on ledger.operation = receipts.operation and ledger.marker = receipts.external_ref and ledger.applied
    where ${filter} and record_id is not null
    order by received_at, ledger_id`;
}

function toEntries(received: ReceivedEntry[]): ApiEntry[] {
  return received.flatMap(({ operation, recordId, patientMrn }) => {
    const kind = kinds[operation];
    return kind === undefined ? [] : [{ kind, anchor: `${kind}-${recordId}`, recordId, patientMrn }];
  });
}
