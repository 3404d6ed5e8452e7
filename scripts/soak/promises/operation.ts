import { type PromiseRow, test } from './row.ts';

export const operationPromises: readonly PromiseRow[] = [
  {
    row: 30,
    fault: '24 accounts of one client on a hanging EMR; 200 hanging webhook addresses; 24 trickled uploads',
    promise: 'A job, a webhook and an upload of another client start within 2 s',
    tests: test('worker/fairSlots', 'leaves room for the next client, however much one client sends'),
  },
  {
    row: 31,
    fault: 'Floods on every unauthenticated route, from 64 connections',
    promise: 'The read p95 of another client is at most twice its quiet value',
    tests: test('api/rateLimit', 'counts parallel failures before they are known'),
  },
  {
    row: 32,
    fault: 'EMR responses of 16 MB, nested, endless, slow; 6 at once',
    promise: '`/healthz` responds within 1 s; memory bounded (+100 MB)',
    tests: test('security/outbound', 'truncates an endless response at the limit and closes the connection'),
  },
  {
    row: 33,
    fault: 'A sync reads an empty list, or a much smaller one than before',
    promise: 'The cache is kept; the operator is warned',
    tests: test('journeys/heldRemovals', 'keeps them, and the sync succeeds with a warning'),
  },
  {
    row: 34,
    goal: '20 failovers',
    fault: 'The PostgreSQL primary is killed or cut off under load; automatic failover',
    promise: 'No acknowledged write lost; service back within 30 s',
    tests: test('db/standby', 'a connection that turned read-only is replaced'),
  },
  {
    row: 35,
    goal: '10 rounds',
    fault: 'Rolling restart and rolling upgrade under load',
    promise: 'No failed request',
    tests: [
      ...test('promises/rollingRestart', 'two API processes and two workers restart one after the other'),
      ...test('upgrade/upgrade', 'the service continues with the data of %s'),
    ],
    open: 'A rolling upgrade is checked by `npm run check:upgrade`, which needs an earlier version, and not by this run.',
  },
  {
    row: 36,
    goal: '5 restores',
    fault: 'Restore of an older backup',
    promise: 'No EMR write repeated without looking it up by its marker; the operator learns what may be missing',
    tests: test('backup/drill', 'jobs that ran after the backup are found in the EMR and not repeated after a restore'),
  },
  {
    row: 37,
    fault: 'Audit records or the head deleted, rolled back, replaced',
    promise: 'Found in every case',
    tests: [
      ...test('audit/anchor', 'and a running and a new process raise an alarm'),
      ...test('audit/anchor', 'reveal a roll-back even if the data folder was rolled back with the database'),
    ],
  },
  {
    row: 38,
    fault: 'Two key rotations at once; a crash at each point of one',
    promise: 'No secret lost',
    tests: test(
      'security/rotation',
      'rotations in several processes at once run one after the other',
      'a process killed at the step %s leaves everything readable',
    ),
  },
  {
    row: 39,
    fault: 'A patient, a practice, a client is erased',
    promise: 'No byte of the planted data left in the database, in the log or in a file; a record in the audit log',
    tests: [
      ...test(
        'erasure/erasure',
        'is erased with everything that names them, by count and with a record',
        'is erased with its accounts, records, jobs and keys; other practices stay',
        'a client is erased with everything but its audit records',
      ),
      ...test('erasure/erasedFiles', 'neither the most detailed log nor a file contains what was erased'),
    ],
  },
  {
    row: 40,
    goal: '5,000 payments',
    fault: 'Payments and claims while responses are lost, connections reset and workers killed',
    promise:
      'The total of the EMR’s ledger equals the sum of `payment.posted`, to the cent; every visit has the claim of its `claim.created`',
    tests: test(
      'promises/payments',
      'the ledger has exactly what payment.posted says, to the cent, and each visit one claim, after lost responses, reset connections and killed workers',
    ),
  },
  {
    row: 41,
    fault: 'Disk full, read-only disk, connections exhausted, 256 file descriptors',
    promise: 'A clear 503 and log line, nothing lost, recovery without a person',
    tests: [
      ...test(
        'promises/exhaustedResources',
        'file descriptors, while 400 connections are held open',
        'database connections',
        'disk space of the database',
        'a disk that becomes read-only',
      ),
      ...test(
        'api/operations',
        'without its database the process is alive but not ready, and recovers within 10 seconds',
      ),
    ],
  },
  {
    row: 42,
    fault:
      'Expiry, re-link, revocation, erasure and run-again in every order with the start, retry, parking and end of a job',
    promise: 'No unfinished job outside a lane, a parking place or a lease',
    tests: test(
      'jobs/interleavings',
      'every interleaving of two transactions',
      'every interleaving with the erasure of a patient',
      'is found and returned to a lane',
    ),
  },
  {
    row: 43,
    goal: '1,000 expiries',
    fault: 'Several jobs, processes and requests find the session of an account expired at the same time',
    promise: 'A refresh token is redeemed once; no account asks for a sign-in that is not needed',
    tests: [
      ...test('promises/sessionRenewals', 'each refresh token is redeemed once'),
      ...test(
        'jobs/renewGrant',
        'a session that several processes find expired',
        'a process that stops while it renews a session',
        'a renewed session',
        'a job whose session the EMR refused',
      ),
    ],
  },
  {
    row: 44,
    goal: '10,000 interleavings',
    fault: 'Pages of a sync are stored while our own writes of the same records commit',
    promise: 'After an event, every cached read shows at least that state',
    tests: [
      ...test('promises/syncInterleavings', 'after an event, the cached patient shows at least that state'),
      ...test('journeys/syncOverwrites', 'a sync that read a page before our own write of a record'),
    ],
  },
  {
    row: 48,
    fault: 'A backup is made after a patient, a practice and a client were erased',
    promise: 'No byte of the planted data in the unpacked backup: tables, indexes, statistics, WAL',
    tests: test(
      'erasure/erasedBackups',
      'promise 48: a backup made after an erasure contains no byte of what was erased',
      'a backup fails with the reason while another session can see erased rows or uses their table',
    ),
  },
  {
    row: 46,
    fault: 'The change feed is read by cursor while transactions commit out of order, by readers that stop anywhere',
    goal: '100,000 changes',
    promise:
      'The reader’s copy equals the database; no change is skipped; after a failover that lost changes, cursors of those are 410',
    tests: [
      ...test('promises/changeFeed', 'readers that stop anywhere end with exactly what the database has'),
      ...test(
        'promises/lossyFailover',
        'after a failover that lost changes, cursors of lost changes are 410 and earlier ones go on',
      ),
    ],
  },
];
