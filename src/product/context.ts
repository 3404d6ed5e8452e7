import type { Logger } from 'pino';
import type { Config } from '../catalog/settings/config.ts';
import type { Connector } from '../emr/connector.ts';
import type { Database, Fragment, Query, Tx } from '../platform/db/database.ts';
import type { FairSlots } from '../platform/db/fairSlots.ts';
import type { Lookups } from '../platform/db/lookups.ts';
import type { Notifications } from '../platform/db/notifications.ts';
import type { IdentityProvider } from '../platform/security/identityProvider.ts';
import type { KeyRing } from '../platform/security/keys.ts';
import type { SystemKeys } from '../platform/security/masterKeys.ts';
import type { Outbound } from '../platform/security/outbound.ts';
import type { Vault } from '../platform/security/vault.ts';
import type { Metrics } from '../platform/telemetry/metrics.ts';
import type { Telemetry } from '../platform/telemetry/telemetry.ts';

/** The dependencies of every module. Created once in main.ts and passed as the first argument. */
export type Context = {
  config: Config;
  /** The public address of the service. With PORT=0 it is known once the service listens. */
  base_url: string;
  log: Logger;
  metrics: Metrics;
  telemetry: Telemetry;
  db: Database;
  notifications: Notifications;
  lookups: Lookups;
  vault: Vault;
  system_keys: SystemKeys;
  key_ring: KeyRing;
  audit: Audit;
  request_log: RequestLog;
  secret_uses: SecretUses;
  /** Clients for the two kinds of URLs that callers choose; OUTBOUND_ALLOW_EMR and OUTBOUND_ALLOW_WEBHOOKS differ. */
  emr_outbound: Outbound;
  webhook_outbound: Outbound;
  /** Undefined if single sign-on is not configured. */
  identity_provider: IdentityProvider | undefined;
  connectors: ReadonlyMap<string, Connector>;
  /** In a dry run, changes of `db` are rolled back and nothing learned about an account is stored. This is the real one. */
  dry_run?: { db: Database } | undefined;
  /** Limits how many jobs have a document in memory. */
  document_slots: FairSlots;
};

/** Who does what the audit log records. */
export const actor_kinds = ['client', 'operator', 'link', 'practice', 'worker', 'system'] as const;

/** A record of the audit log. It contains our own names and ids, never health data. */
export type AuditEntry = {
  /** Null for actions that do not belong to a client. */
  client_id: string | null;
  actor_kind: (typeof actor_kinds)[number];
  /** A client's public id, an operator's email address, or the user id of a link or of the account of a practice. */
  actor: string;
  account_id?: string | null | undefined;
  /** An endpoint's id, or another action: `job.patient.create`, `account.link`. */
  action: string;
  /** An HTTP status or a job state. */
  outcome: string;
  request_id?: string | undefined;
  /** The IP address that the request came from. */
  address?: string | undefined;
  job_id?: number | undefined;
  /** The id of the record or operation; never a name or an MRN. */
  subject?: string | undefined;
  /** The patients' MRNs. Only keyed hashes are stored, so that a search by MRN finds the record. */
  mrns?: Iterable<string> | undefined;
  detail?: Record<string, unknown> | undefined;
};

/** The audit log, for writers. */
export type Audit = {
  /** Resolves when the record is committed. */
  record(entry: AuditEntry): Promise<void>;
  /** Stores the records in the transaction of the change: both commit, or neither. */
  recordInTransaction(tx: Tx, ...entries: AuditEntry[]): Promise<void>;
  /**
   * An INSERT of records as part of a larger statement, of those for which `condition` is true: it may use
   * `entry.subject`. It returns a row per record, whose number the statement checks with `require_audit_records`. With a
   * condition, call `confirm` for each entry that was stored.
   */
  recordStatement(sql: Query, entries: readonly AuditEntry[], condition?: Fragment): Fragment;
  /** Says that the record of an entry of `recordStatement` was committed. A later record names it. */
  confirm(entry: AuditEntry): void;
};

/** A request in the request log. */
export type LoggedRequest = {
  id: string;
  client_id: string | null;
  account_id: string | null;
  endpoint: string;
  method: string;
  status: number;
  duration_ms: number;
  code: string | null;
  /** The masked path of a request that no endpoint matches; null for all others, whose endpoint has the path. */
  path: string | null;
  /** The field that an error response names. */
  field: string | null;
  job_id: number | null;
  /** Null if it was not known when the response started. */
  response_bytes: number | null;
  /** The values in the message of the error, as far as they may be stored (http/loggedError.ts). */
  message_values: Record<string, string> | null;
  /** The path that was sent, in the sandbox only. */
  sent_path: string | null;
};

export type RequestLog = {
  /** Does not wait and never fails: a request that cannot be stored is counted and dropped. */
  add(request: LoggedRequest): void;
};

export type SecretUses = {
  /** Does not wait and never fails. */
  note(use: { client_id: string; secret_id: string }): void;
};
