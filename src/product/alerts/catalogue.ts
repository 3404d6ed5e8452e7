/** `critical` is also sent during quiet hours. */
export const severities = ['critical', 'warning'] as const;
export type Severity = (typeof severities)[number];

/**
 * `title` names the problem. `cause` and `remedy` are sentences for people. `reminder_days`: days after which a problem
 * that is still there is sent again. `repeats_when_growing`: it is also sent again if there are more than at the last time.
 */
type Alert = {
  title: string;
  severity: Severity;
  cause: string;
  remedy: string;
  /** The dashboard page that the alert links to. */
  page: string;
  reminder_days?: readonly number[];
  repeats_when_growing?: true;
};

/** The catalogue of alerts. `docs/reference/alerts.md` is generated from it; `conditions.ts` says when each is open. */
export const alert_catalogue = {
  jobs_need_review: {
    title: 'Jobs need review',
    severity: 'critical',
    cause: 'The EMR did not confirm a write, and a search for it gave no result.',
    remedy: 'Check in the EMR whether it was saved, then resolve the job.',
    page: 'Jobs, filtered by “Needs review”',
    repeats_when_growing: true,
  },
  emr_unreachable: {
    title: 'EMR not responding',
    severity: 'critical',
    cause:
      'Every attempt to reach the EMR of a practice has failed for five minutes, and at least one job is retried because of it. Jobs are retried for an hour and then fail.',
    remedy:
      'Check that the EMR is running and that its address is right; the job’s timeline has the reason. Jobs resume automatically.',
    page: 'Jobs, filtered by “Retrying” and the practice',
    reminder_days: [1],
  },
  no_workers: {
    title: 'No worker is running',
    severity: 'critical',
    cause: 'No process that runs jobs and webhooks was seen for a minute. Writes are accepted and wait.',
    remedy: 'Start a worker (chartwire serve --role worker), and check its log for why it stopped.',
    page: 'Overview',
  },
  queue_stalled: {
    title: 'Queue stalled',
    severity: 'critical',
    cause:
      'Work that is ready to run has not started for five minutes: no worker is running, all slots are taken, or the database is slow.',
    remedy:
      'Check that a worker process is running (GET /readyz). If all are busy, add one or raise WORKER_JOBS or WORKER_DELIVERIES.',
    page: 'Overview',
  },
  change_feed_stalled: {
    title: 'Change feed stalled',
    severity: 'warning',
    cause:
      'A transaction in the database server has been open for more than a minute. The change feed waits for it, so that no change is skipped.',
    remedy:
      'Find it in pg_stat_activity (oldest xact_start with a backend_xid, of any database of the server) or in pg_prepared_xacts, and end it. Readers then get what has waited.',
    page: 'Overview',
  },
  audit_verification_failed: {
    title: 'Audit verification failed',
    severity: 'critical',
    cause: 'The audit log was changed, shortened or replaced since it was last verified or anchored.',
    remedy:
      'Treat it as a security incident, unless the database was just restored: keep the database and the anchor files, and run chartwire audit verify.',
    page: 'Audit log',
  },
  audit_sealing_stalled: {
    title: 'Audit records not chained',
    severity: 'critical',
    cause:
      'A record of the audit log has not joined its chain for five minutes. Until it does, its deletion may go unnoticed. No worker is running, the end of the chain was changed, or another session holds the advisory lock of the task.',
    remedy:
      'Check that a worker is running and what it logs. Find in pg_locks who holds an advisory lock; if it is not Chartwire, treat it as a security incident and run chartwire audit verify.',
    page: 'Audit log',
  },
  audit_collector_lagging: {
    title: 'Audit log not reaching its collector',
    severity: 'critical',
    cause:
      'The oldest record of the audit log that the collector of the settings does not have is more than five minutes old. Nothing is lost: the records are sent when the collector accepts them again.',
    remedy:
      'Check that the collector is running and that its certificate is valid; chartwire doctor tries the connection, and the alert says why the last attempt failed.',
    page: 'Audit log',
    reminder_days: [1],
  },
  scanner_unavailable: {
    title: 'Documents not scanned',
    severity: 'critical',
    cause:
      'The document scanner of the settings has not scanned a document for a minute. Jobs with documents wait for it, and fail after 24 hours.',
    remedy:
      'Check that the scanner is running and reachable from the workers; chartwire doctor asks it. If it refuses a document because of its size, raise its limit (StreamMaxLength of clamd). Jobs resume automatically.',
    page: 'Jobs, filtered by “Queued”',
    reminder_days: [1],
  },
  owner_added: {
    title: 'New owner',
    severity: 'critical',
    cause: 'An operator became an owner in the last 24 hours. Owners can give access to all data.',
    remedy:
      'If no owner intended it, disable the operator under Settings → Operators, and find in the audit log who made it an owner.',
    page: 'Settings → Operators',
  },
  approval_waiting: {
    title: 'Approval requested',
    severity: 'warning',
    cause: 'An operator has requested an action that a second operator must approve (FOUR_EYES).',
    remedy: 'Another operator with the right to do it approves or refuses it under Approvals, before it expires.',
    page: 'Approvals',
  },
  emr_endpoint_changed: {
    title: 'EMR endpoint changed',
    severity: 'critical',
    cause:
      'The EMR of a linked account names a token endpoint or sign-in page that the account’s EMR app does not allow. Nothing was sent there.',
    remedy:
      'Ask the EMR’s administrator whether the endpoint was moved. If so, change the EMR app. If not, treat it as a security incident: someone changed what the EMR publishes.',
    page: 'Accounts',
  },
  endpoint_failing: {
    title: 'Webhook endpoint failing',
    severity: 'warning',
    cause:
      'Every delivery to the endpoint has failed for five minutes, or the endpoint was disabled because of failures.',
    remedy: 'Fix the receiver, enable the endpoint if it is disabled, then resend the failed events.',
    page: 'The endpoint',
  },
  account_login_required: {
    title: 'Account needs re-linking',
    severity: 'warning',
    cause: 'The EMR no longer accepts the sign-in of a linked account. Its jobs wait, and fail after 14 days.',
    remedy: 'Send the user through Link in update mode, or create a link for re-linking on the Accounts page.',
    page: 'Accounts',
    reminder_days: [1, 3, 7],
  },
  link_failing: {
    title: 'Link failed',
    severity: 'warning',
    cause:
      'Somebody could not link an account, and nobody has linked it in the five minutes since. The alert resolves when the account is linked, or a day after the link has expired.',
    remedy: 'The connection report has each request and what to change: the address, the EMR app, or the server.',
    page: 'The connection report',
  },
  sync_failing: {
    title: 'Sync failing',
    severity: 'warning',
    cause:
      'The last sync of a practice failed, or the running one has read nothing for half an hour. The records of the practice are not kept up to date.',
    remedy: 'The sync’s job has the reason. When it is fixed, start a sync on the Accounts page.',
    page: 'The job of the sync',
    reminder_days: [1],
  },
  sync_held_back: {
    title: 'Removals held back',
    severity: 'warning',
    cause: 'A complete list from the EMR was missing so many known records that none were removed.',
    remedy:
      'Check in the EMR whether the records are gone. If so, confirm the removal on the accounts page; if not, check the EMR and the permissions of the linked user.',
    page: 'Accounts',
  },
  directory_failing: {
    title: 'Practice directory not refreshed',
    severity: 'warning',
    cause:
      'A list of practices could not be read again from its URL, or lacks so many practices that none were removed. The directory still has what was imported before.',
    remedy:
      'See the reason with chartwire directory list. Import the list from its new URL, or with --accept-removals if the practices are gone; remove a list that is no longer published.',
    page: 'Overview',
    reminder_days: [7],
  },
  secret_expiring: {
    title: 'Client secret expires',
    severity: 'warning',
    cause:
      'A secret of a client expires within 14 days, or has expired, and no newer one with the same access is in use. Requests with it are then rejected.',
    remedy: 'Create a new secret with the same access, put it into the application, and revoke the old one.',
    page: 'Settings → Clients, the client',
    reminder_days: [7, 11, 13],
  },
  certificate_expiring: {
    title: 'Client certificate expires',
    severity: 'warning',
    cause:
      'The certificate that the service presents to a webhook receiver or an EMR expires within 30 days, or has expired. Connections with it then fail.',
    remedy:
      'Obtain a new certificate from whoever issued it, and replace it: on the page of the endpoint, or in the EMR app.',
    page: 'The endpoint, or Settings → Clients, the client',
    reminder_days: [16, 23, 27, 29],
  },
  destination_changed: {
    title: 'New or changed destination',
    severity: 'warning',
    cause:
      'In the last 24 hours, a webhook endpoint was created or got another URL, a callback URL or frame origin of an application was added, or an EMR app was added.',
    remedy:
      'Check in the audit log who made the change, and whether the address is the right one. If not, remove it, and revoke the credentials that were used.',
    page: 'Audit log',
  },
  many_patients_read: {
    title: 'Many patients read',
    severity: 'warning',
    cause:
      'A client has read more different patients within an hour than ALERT_PATIENTS_PER_HOUR allows. A copy of all records does that too, and so does a stolen secret.',
    remedy:
      'Ask who runs the application whether it copies records. If not, revoke the client secret and find in the audit log which addresses the requests came from.',
    page: 'Audit log',
  },
  many_reveals: {
    title: 'Many reveals',
    severity: 'warning',
    cause: 'An operator has revealed patient details more often within an hour than ALERT_REVEALS_PER_HOUR allows.',
    remedy:
      'Read the reasons in the audit log (action dashboard.reveals.create), and ask the operator. If it was someone else, reset the operator.',
    page: 'Audit log',
  },
  many_exports: {
    title: 'Many exports',
    severity: 'warning',
    cause:
      'An operator, or the command line, has exported more files within an hour than ALERT_EXPORTS_PER_HOUR allows.',
    remedy: 'Find the exports in the audit log, and ask the operator. If it was someone else, reset the operator.',
    page: 'Audit log',
  },
  new_sign_in_network: {
    title: 'Sign-in from a new network',
    severity: 'warning',
    cause:
      'In the last 24 hours, an operator has signed in from a network that the operator had not used for ALERT_NEW_NETWORK_DAYS.',
    remedy: 'Ask the operator. If it was someone else, reset the operator, which ends all sessions.',
    page: 'Audit log',
  },
  sign_ins_refused: {
    title: 'Many refused sign-ins',
    severity: 'warning',
    cause:
      'More sign-ins of operators were refused within an hour than ALERT_REFUSED_SIGN_INS allows. Someone may be guessing passwords or codes.',
    remedy:
      'Find the addresses in the audit log (action operator.sign_in), and block them in the reverse proxy. Passwords and codes are limited in any case; passkeys cannot be guessed.',
    page: 'Audit log',
  },
  credentials_refused: {
    title: 'Many refused credentials',
    severity: 'warning',
    cause:
      'More API requests with invalid client credentials or access tokens arrived within an hour than ALERT_REFUSED_CREDENTIALS allows. An application uses revoked credentials, or someone is guessing.',
    remedy: 'Find the requests under Requests (status 401), and their addresses in the log of the reverse proxy.',
    page: 'Requests',
  },
  old_transaction: {
    title: 'Old database transaction',
    severity: 'warning',
    cause:
      'A transaction has been open for 15 minutes. Until it ends, PostgreSQL cannot remove deleted rows, and queues slow down.',
    remedy: 'Find it in pg_stat_activity and end it. The usual cause is a forgotten interactive session or a backup.',
    page: 'Alerts',
  },
} as const satisfies Record<string, Alert>;

export type AlertCode = keyof typeof alert_catalogue;

// Object.keys() loses the type of a literal's keys.
export const alert_codes = Object.keys(alert_catalogue) as AlertCode[];

/** The entry of a code, with the fields that only some alerts have. */
export function lookUpAlert(code: AlertCode): Alert {
  return alert_catalogue[code];
}
