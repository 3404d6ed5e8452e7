import { type PromiseRow, test } from './row.ts';

export const jobPromises: readonly PromiseRow[] = [
  {
    row: 1,
    goal: '20 kills, 2,000 jobs',
    fault: 'A random worker is killed (`kill -9`) during mixed writes',
    promise:
      'No job lost, no EMR write doubled, exactly one terminal event per job; abandoned work resumes within 30 s',
    tests: test('journeys/kill', 'if three workers are killed during 30 mixed writes'),
  },
  {
    row: 2,
    goal: '8 writes',
    fault:
      'A crash at each named point (after accept, lease, intent, send, reply, commit; during a delivery) of each write',
    promise: 'The same; `needs_review` only where the connector declares that it cannot search the EMR',
    tests: [
      ...test('promises/crashPoints', '%s is done once if the worker is killed while it %s'),
      ...test('journeys/kill', 'if a worker is killed before the EMR applies its write'),
      ...test('journeys/kill', 'if a worker is killed during a delivery'),
      ...test('jobs/jobSteps', 'whose response was lost is found by its marker', 'needs review after a lost response'),
    ],
  },
  {
    row: 3,
    goal: '5,000 keys',
    fault: 'The API is killed while clients repeat requests with one `Idempotency-Key` each',
    promise: 'One job per key',
    tests: test('promises/idempotencyKeys', 'one Idempotency-Key is one job'),
  },
  {
    row: 4,
    goal: '10 restarts',
    fault: 'PostgreSQL is restarted (fast and immediate) under load',
    promise: 'Everything acknowledged exists; all processes recover within 10 s',
    tests: test('promises/databaseRestart', 'every write accepted while the embedded database restarts'),
  },
  {
    row: 5,
    goal: '20 kills',
    fault: 'The embedded default is killed during a write',
    promise: 'Everything acknowledged exists after a restart',
    tests: [
      ...test('journeys/kill', 'runs every write that it accepted with 200 after it was killed'),
      ...test('embedded/recovery', 'a killed server is started again and has all committed rows'),
    ],
  },
  {
    row: 6,
    goal: '200 times',
    fault: 'A worker is frozen past its lease, then continued',
    promise: 'Its late commit is refused; no second terminal event',
    tests: test('journeys/kill', 'the late result of a worker that was frozen past its lease is discarded'),
  },
  {
    row: 7,
    fault: 'The EMR is slow, resets, truncates, sends HTML, 500, 429 or nothing',
    promise: 'Each ends in its documented code; no raw body or stack trace in `failure_reason`',
    tests: [
      ...test('journeys/faults', 'error_429: is sent again', 'refuse: fails with the EMR’s message'),
      ...test('connectors/larkspur/writeFaults', 'a write with the fault %s succeeds', 'times out after 10 s'),
      ...test('journeys/failureCodes', '%s is %s in the job and the event'),
    ],
  },
  {
    row: 8,
    goal: '500 jobs',
    fault: 'The EMR session expires in the middle of a batch',
    promise: 'One `login_required`, jobs parked, all finish after update mode, none lost',
    tests: test('journeys/login', 'is reported once, parks all jobs and returns 403'),
  },
  {
    row: 9,
    goal: '10,000 jobs',
    fault: 'One tenant queues thousands of jobs',
    promise: 'A single job of another tenant starts within 2 s',
    tests: test('journeys/order', 'a single job of another client starts before most'),
  },
  {
    row: 10,
    goal: '5,000 writes',
    fault: 'Many writes of the same patients',
    promise: 'No inversion per patient',
    tests: test('journeys/order', 'writes for 5 patients, accepted in parallel, is kept per patient'),
  },
];

export const webhookPromises: readonly PromiseRow[] = [
  {
    row: 11,
    fault: 'Receivers fail 30 % of the time (500, 503, reset, slow), or at every other request (500, timeout, reset)',
    promise:
      'All delivered within the retry schedule; `webhook-id` constant, timestamp new and signature valid at every attempt, checked with the `standardwebhooks` package and by hand; not sent again after it was accepted, unless a crash came between; no deadlock',
    tests: [
      ...test(
        'journeys/webhooks',
        'an event is sent again with the same id and a valid signature after a failed attempt',
      ),
      ...test('webhooks/deliver', 'makes ten attempts with the same id, new timestamps and valid signatures'),
      ...test('webhooks/flappingReceiver', 'do not deadlock: %s'),
    ],
    open: 'A run does not last as long as the retry schedule: at its end the pauses are skipped.',
  },
  {
    row: 12,
    fault: 'The retry schedule',
    promise: 'Every pause within ±20 % of the table; `Retry-After` honored',
    tests: test('webhooks/retrySchedule', 'attempts is within 20 %', 'waits for Retry-After, up to 24 hours'),
  },
  {
    row: 13,
    fault: 'One receiver hangs',
    promise: 'First attempts to others stay within 1 s (p95); responses cut at 64 KB',
    tests: test('webhooks/deliver', 'reads at most 64 KB of a response', 'to a receiver that hangs is postponed'),
  },
  {
    row: 47,
    fault: 'A bulk export is interrupted at every stored step, with expired tokens, redirects and incomplete files',
    promise: 'The list is complete, nothing that exists is removed, and one export runs at a time',
    tests: [
      ...test(
        'journeys/bulk-exports/bulkExportKills',
        'an export whose worker is killed at every step that it stores is requested once and read completely',
        'an export whose worker is killed before its URL is stored is not requested again while it may run',
      ),
      ...test(
        'journeys/bulk-exports/bulkExports',
        'files that are cut off, expire, need a new token or fail once are read completely',
        'an export with errors removes nothing, and its errors are shown',
        'a file redirected to another host is read without the token, over one redirect only',
      ),
    ],
    open: 'Only in this form: nine kills, and lists of a small practice.',
  },
  {
    row: 50,
    fault:
      'Staff change 50 records on screens and through the EMR’s API while a client writes to the same patients and the worker of the sync is killed (`kill -9`)',
    promise: 'Exactly the changes by staff are announced, each once and in order per patient',
    open: 'Only in this form: 50 changes and three kills.',
    tests: [
      ...test(
        'spec/webhooks/staffChanges',
        'exactly what staff changed is announced, once and in order, while a client writes and the sync’s worker is killed',
      ),
      ...test(
        'spec/webhooks/fhirSyncEvents',
        'a staff change of an appointment is announced, and writes of ours are not',
      ),
    ],
  },
  {
    row: 14,
    fault: 'Addresses in the own network, for webhooks and EMRs, in any spelling, also after a change in DNS',
    promise: 'No connection to private, loopback, link-local, metadata or mapped addresses',
    tests: [
      ...test('security/outbound', 'a name is checked again at every connection (DNS rebinding)'),
      ...test('security/addresses', 'https://%s/ is refused outside the sandbox', 'inside IPv6 is refused'),
    ],
  },
];
