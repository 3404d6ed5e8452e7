import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Connector } from './connectors/connector.ts';
import type { Database, Fragment, Sql, Tx } from './db/database.ts';
import type { Lookups } from './db/lookups.ts';
import type { Notifications } from './db/notifications.ts';
import type { Metrics } from './metrics.ts';
import type { AuditRecord } from './model/dashboard/audit.ts';
import type { KeyRing } from './security/openKeys.ts';
import type { Outbound } from './security/outbound.ts';
import type { SigningKeys } from './security/signingKeys.ts';
import type { SystemKeys } from './security/systemKeys.ts';
import type { Vault } from './security/vault.ts';

/** What every part of a process works with; made once in main.ts and handed down as the first argument. */
export type Context = {
  config: Config;
  /** As clients and browsers see the service. Where any free port was asked for, known once the service listens. */
  base_url: string;
  log: Logger;
  metrics: Metrics;
  db: Database;
  notifications: Notifications;
  lookups: Lookups;
  vault: Vault;
  system_keys: SystemKeys;
  key_ring: KeyRing;
  audit: Audit;
  request_log: RequestLog;
  signing_keys: SigningKeys;
  outbound: Outbound;
  connectors: ReadonlyMap<string, Connector>;
};

/** Somebody did something: one line of the audit trail. In our words and ids, never health data. */
export type AuditEntry = {
  /** null for acts above the tenants. */
  client_id: string | null;
  actor_kind: AuditRecord['actor_kind'];
  /** A client's public id, an operator's e-mail address, the user that a link is for. */
  actor: string;
  account_id?: string | null | undefined;
  /** An endpoint's id, or what was done: `job.patient.create`, `account.link`. */
  action: string;
  /** An HTTP status, or the state of a job. */
  outcome: string;
  request_id?: string | undefined;
  job_id?: number | undefined;
  /** The id of the record or operation concerned; never a name or an MRN. */
  subject?: string | undefined;
  /** MRNs of the patients concerned. Marks are stored of them, by which a search for an MRN finds the record. */
  mrns?: Iterable<string> | undefined;
  detail?: Record<string, unknown> | undefined;
};

/** The audit trail, as those see it who leave records in it. */
export type Audit = {
  /** Resolves when the record is committed. */
  record(entry: AuditEntry): Promise<void>;
  /** In the transaction of what was done: both stand or neither. */
  recordInTransaction(tx: Tx, entry: AuditEntry): Promise<void>;
  /** As a part of the one statement that does it: an INSERT of the record, made where `condition` holds. */
  recordStatement(sql: Sql | Tx, entry: AuditEntry, condition: Fragment): Fragment;
};

/** A request that was answered, as the log of requests keeps it. */
export type LoggedRequest = {
  id: string;
  client_id: string | null;
  account_id: string | null;
  endpoint: string;
  method: string;
  status: number;
  duration_ms: number;
  code: string | null;
};

export type RequestLog = {
  /** Never waited for, and never in the way of an answer: what cannot be stored is counted and dropped. */
  add(request: LoggedRequest): void;
};
