import { recognizeCopies } from '../catalog/classCopies.ts';
import type { FailureCode } from '../catalog/failures.ts';

/**
 * How an EMR call can fail. The kind decides what happens next: `login_required` parks the account's jobs, `refused`
 * and `not_found` are final, `unavailable` is retried, `unknown_outcome` (the write may have arrived) is looked up in
 * the EMR before it is retried.
 */
export type EmrFailureKind = 'login_required' | 'refused' | 'not_found' | 'unavailable' | 'unknown_outcome';

/** The code of a failure that says no more than its kind. */
export const kind_codes = {
  login_required: 'login_required',
  refused: 'emr_refused',
  not_found: 'record_not_found',
  unavailable: 'unavailable',
  unknown_outcome: 'outcome_unknown',
} as const satisfies Record<EmrFailureKind, FailureCode>;

/** `message` is shown to people. It never contains a raw body, a URL, a credential or a stack trace. */
export class EmrFailure extends Error {
  readonly kind: EmrFailureKind;
  /** The cause, for programs. Only final failures (`refused`, `not_found`) have another one than that of their kind. */
  readonly code: FailureCode;
  readonly retry_after_ms: number | undefined;
  /** For an unknown outcome: the EMR confirmed the write but does not return the record. It is never sent again. */
  readonly accepted: boolean;
  /** For an unknown outcome: the EMR responds, but cannot say whether the write arrived, perhaps permanently. */
  readonly undecided: boolean;
  /**
   * The server does not offer this operation to this account at all, whatever its input (403 on the whole type, 404 or
   * 405 on a create). The operation is then removed from the account's capabilities, with `message` as the reason.
   */
  readonly not_offered: boolean;
  /** The host name, if it does not exist or no longer exists. A person who waits need not try again. */
  readonly unknown_host: string | undefined;
  /** The connector cannot use the server at this address, regardless of who signs in. `message` says why. */
  readonly wrong_address: boolean;
  /** Details for the event (`conflict_type`, `duplicate_patient_mrn`). */
  readonly details: Record<string, unknown> | undefined;

  constructor(
    kind: EmrFailureKind,
    message: string,
    options: {
      code?: FailureCode;
      retry_after_ms?: number;
      accepted?: boolean;
      undecided?: boolean;
      not_offered?: boolean;
      unknown_host?: string | undefined;
      wrong_address?: boolean;
      details?: Record<string, unknown>;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: options.cause });
    this.details = options.details;
    this.name = 'EmrFailure';
    this.kind = kind;
    this.code = options.code ?? kind_codes[kind];
    this.accepted = options.accepted ?? false;
    this.undecided = options.undecided ?? false;
    this.not_offered = options.not_offered ?? false;
    this.unknown_host = options.unknown_host;
    this.wrong_address = options.wrong_address ?? false;
    this.retry_after_ms = options.retry_after_ms;
  }
}

recognizeCopies(EmrFailure, 'EmrFailure');

/** What an operation throws for a field that it cannot store. The API rejects requests with such a field earlier. */
export function unsupportedField(field: string): EmrFailure {
  return new EmrFailure('refused', `Field '${field}' is not supported by this EMR.`, { code: 'not_supported' });
}
