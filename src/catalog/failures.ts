import { Type } from 'typebox';

/**
 * Whether sending the write again can help: `unchanged` once the cause is fixed, `corrected` with other values,
 * `if_not_saved` only after a check in the EMR, `never` for this account or EMR.
 */
type SendAgain = 'unchanged' | 'corrected' | 'if_not_saved' | 'never';

/** `label` is the short form for lists. `cause` and `remedy` are sentences for people. */
type Failure = { label: string; cause: string; remedy: string; send_again: SendAgain };

/**
 * The failure catalogue: why an accepted write or a sync failed. `docs/reference/failures.md` is generated from it.
 * Codes never change; new ones may be added.
 */
export const failures = {
  patient_not_found: {
    label: 'Patient not found',
    cause: 'The EMR has no patient with this MRN or ID.',
    remedy: 'Check the MRN in the EMR. Charts may have been merged or renumbered.',
    send_again: 'corrected',
  },
  patient_ambiguous: {
    label: 'Several patients with this MRN',
    cause: 'The EMR has more than one patient with this MRN.',
    remedy: 'Merge or renumber the charts in the EMR.',
    send_again: 'unchanged',
  },
  duplicate_patient: {
    label: 'Duplicate patient',
    cause: 'The EMR already has a chart for this person; `duplicate_patient_mrn` names it if the EMR does.',
    remedy: 'Use the existing chart. If it is another person, correct the name, date of birth or sex.',
    send_again: 'corrected',
  },
  medication_not_found: {
    label: 'Medication not found',
    cause: 'None of the patient’s active medications has this name. The failure reason lists them.',
    remedy: 'Send the name of one of the listed medications.',
    send_again: 'corrected',
  },
  medication_ambiguous: {
    label: 'Several medications match',
    cause: 'The name matches several different active medications of the patient. The failure reason lists them.',
    remedy: 'Send the full name and strength of one of them.',
    send_again: 'corrected',
  },
  slot_taken: {
    label: 'Time not available',
    cause:
      'The provider has an appointment or a block at this time. The event says which, and `GET /v1/availability` lists the free times.',
    remedy: 'Book a free time.',
    send_again: 'corrected',
  },
  cancelled: {
    label: 'Canceled',
    cause: 'The job was canceled before anything was sent to the EMR.',
    remedy: 'Send the write again if it is needed after all.',
    send_again: 'unchanged',
  },
  record_not_found: {
    label: 'Record not found',
    cause:
      'A record that the request refers to does not exist in the EMR, or no longer does. The failure reason names it.',
    remedy: 'Check the ID or name in the EMR. Start a sync if the record was deleted there recently.',
    send_again: 'corrected',
  },
  record_ambiguous: {
    label: 'Several records match',
    cause: 'A name in the request matches several records in the EMR.',
    remedy: 'Send the ID of the record instead of its name.',
    send_again: 'corrected',
  },
  record_inactive: {
    label: 'Record inactive',
    cause: 'A record that the request refers to is inactive in the EMR. The failure reason names it.',
    remedy: 'Send another one, or have it activated in the EMR.',
    send_again: 'corrected',
  },
  record_changed: {
    label: 'Concurrent change',
    cause: 'Someone changed the same value in the EMR while it was being updated. Nothing was saved.',
    remedy: 'Compare the current value in the EMR with yours.',
    send_again: 'unchanged',
  },
  duplicate_record: {
    label: 'Duplicate record',
    cause: 'The EMR already has this record.',
    remedy: 'Use the existing record.',
    send_again: 'corrected',
  },
  unknown_value: {
    label: 'Unknown value',
    cause:
      'The EMR does not know a coded value, such as a language, race, ethnicity or visit type. The failure reason lists the accepted values if the EMR provides them.',
    remedy: 'Send one of the accepted values.',
    send_again: 'corrected',
  },
  emr_validation: {
    label: 'Invalid for the EMR',
    cause: 'The EMR’s rules reject the values: one is missing, malformed, too long or in conflict with another.',
    remedy: 'Correct the value that the failure reason names.',
    send_again: 'corrected',
  },
  emr_refused: {
    label: 'Rejected by the EMR',
    cause: 'The EMR rejected the request for a reason that has no specific code. The failure reason quotes the EMR.',
    remedy: 'Resolve the cause in the EMR or in the request.',
    send_again: 'unchanged',
  },
  not_permitted: {
    label: 'Not permitted',
    cause: 'The linked EMR user is not allowed to do this in the EMR.',
    remedy: 'Have the EMR’s administrator grant the permission, or link another EMR user.',
    send_again: 'unchanged',
  },
  not_supported: {
    label: 'Not supported by the EMR',
    cause:
      'The EMR does not support this operation, search or field. `capabilities` in `GET /v1/settings` lists what it supports.',
    remedy: 'Leave out the field that the failure reason names, if it names one.',
    send_again: 'never',
  },
  too_many_matches: {
    label: 'Too many matches',
    cause: 'More records match the search than can be returned.',
    remedy: 'Narrow the search.',
    send_again: 'corrected',
  },
  emr_address_refused: {
    label: 'EMR address not allowed',
    cause: 'This installation’s outbound guard does not allow the EMR’s address, for example because it is private.',
    remedy: 'Have the operator allow the address in the settings, or link the EMR at another one.',
    send_again: 'unchanged',
  },
  document_infected: {
    label: 'Infected document',
    cause: 'The virus scanner of this installation found something in a document. Nothing was sent to the EMR.',
    remedy: 'Check where the file comes from, and send a clean one.',
    send_again: 'corrected',
  },
  scanner_unavailable: {
    label: 'Document scanner unavailable',
    cause:
      'The virus scanner of this installation did not scan the document, so it was not sent to the EMR. The job is retried for 24 hours.',
    remedy: 'Wait until the scanner is available.',
    send_again: 'unchanged',
  },
  unavailable: {
    label: 'EMR unavailable',
    cause: 'The EMR was unreachable, overloaded or failing. The job is retried for an hour.',
    remedy: 'Wait until the EMR is available.',
    send_again: 'unchanged',
  },
  outcome_unknown: {
    label: 'Outcome unknown',
    cause: 'The EMR did not confirm a write, and a search for it gave no result. The job’s status is `needs_review`.',
    remedy: 'Check in the EMR whether it was saved, then resolve the job in the dashboard.',
    send_again: 'if_not_saved',
  },
  login_required: {
    label: 'Account not re-linked in time',
    cause: 'The account link expired and was not re-linked within 14 days.',
    remedy: 'Run Link in update mode.',
    send_again: 'unchanged',
  },
  account_unlinked: {
    label: 'Account unlinked',
    cause: 'The account was unlinked before the job ran.',
    remedy: 'Link the account again and use its new access token.',
    send_again: 'never',
  },
  internal: {
    label: 'Internal error',
    cause: 'An internal error in this service. Its log has the details under the job ID.',
    remedy: 'Report the job ID to the operator of this service.',
    send_again: 'unchanged',
  },
} as const satisfies Record<string, Failure>;

export type FailureCode = keyof typeof failures;

/** The entry of a stored code. Jobs of earlier versions may have other codes. */
export function lookUpFailure(code: string): Failure | undefined {
  return Object.hasOwn(failures, code) ? failures[code as FailureCode] : undefined;
}

/** What the reference pages say about sending the write again. */
export const send_again_texts: Record<SendAgain, string> = {
  unchanged: 'yes, after the remedy',
  corrected: 'with corrected values',
  if_not_saved: 'only if it was not saved',
  never: 'no',
};

/** In responses and events. A string there, not an enum: clients must accept codes that are added later. */
export const failure_code = Type.Unsafe<FailureCode>(
  Type.String({ description: 'A failure code. New ones may be added.', examples: ['patient_not_found'] }),
);
