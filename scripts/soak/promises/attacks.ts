import { type PromiseRow, test } from './row.ts';

export const attackPromises: readonly PromiseRow[] = [
  {
    row: 15,
    fault: 'Every route with every id, with the credentials of another tenant, another token, a revoked one and none',
    promise: '401 or 404 as documented, no byte of another tenant; a new route without an entry fails the test',
    tests: test(
      'tenancy/crossTenantAccess',
      '%s returns 401 without credentials',
      '%s returns 401 without an access token',
      "%s returns 401 with another client's access token or a revoked one",
    ),
  },
  {
    row: 16,
    fault: 'The database role of the service without a tenant',
    promise: 'Row-level security returns no row of any tenant table',
    tests: test('tenancy/rowLevelSecurity', 'returns no rows without a tenant', 'has forced row-level security'),
  },
  {
    row: 17,
    fault:
      'A search for planted credentials and tokens in the database, logs and files, in plain text, base64 and hexadecimal',
    promise: 'No hit, except in sandbox.json and the sandbox’s start message',
    tests: test('tenancy/secrets', 'are not in the database, in any encoding', 'are in no file of the data folder'),
  },
  {
    row: 18,
    fault: 'A search for planted health data in logs, metrics, error texts and URLs',
    promise: 'No hit',
    tests: [
      ...test('tenancy/secrets', 'are not logged at the trace level, and neither is health data'),
      ...test('api/operations', 'contains requests, jobs, deliveries and queues, and no patient data'),
      ...test('audit/requests', 'contains no query, body or patient data'),
    ],
  },
  {
    row: 19,
    fault: 'The master key is rotated under load',
    promise: 'No failed request; all keys are encrypted by the new master key',
    tests: test('security/vault', 'promise 19: the master key is rotated under load without a failed call'),
    open: 'In the long run requests also fail for other reasons, so that only the test shows that none fails by a rotation.',
  },
  {
    row: 20,
    fault: 'Dashboard: CSRF, another origin, an old session, password guessing',
    promise: 'All refused; at most 10 password checks per account in 15 minutes',
    tests: test(
      'dashboard/sign-in/session',
      'is rejected with the CSRF token of another session',
      'cannot sign in from another site',
      'expires after 15 minutes without activity',
      'is limited to 10 password checks per account in 15 minutes',
    ),
  },
  {
    row: 21,
    fault: 'Link: another parent page, forged messages, one public token exchanged in parallel',
    promise: 'Framed by registered origins only, no forged message acted on, exactly one link, exactly one callback',
    tests: [
      ...test('browser/link/linkSecurity', 'is blocked by the browser for other origins'),
      ...test('browser/link/linkSecurity', 'the script ignores messages of other windows'),
      ...test('linking/linkPage', 'links exactly once for parallel requests with one link token'),
    ],
  },
  {
    row: 22,
    goal: '100 uploads at once',
    fault: 'Uploads: wrong type, polyglots, truncated files, 5 MB less and more one byte, path names',
    promise: 'The right verdict for all; memory bounded when 100 arrive at once',
    tests: [
      ...test(
        'security/sniffDocument',
        'is rejected if truncated anywhere',
        'is rejected if a ZIP archive ends inside it',
      ),
      ...test('spec/documents/documents', 'accepts 24 concurrent uploads of 1 MB'),
      ...test('promises/uploads', 'memory stays bounded while many documents of 5 MB arrive at once'),
    ],
  },
  {
    row: 23,
    fault: 'Requests generated from the OpenAPI document, valid and broken',
    promise: 'No 5xx, no response outside its schema, no unhandled rejection',
    tests: test(
      'promises/generatedRequests',
      'promise 23: requests generated from the OpenAPI document get documented responses',
    ),
    open: 'Uploads are not generated; their forms have tests of their own.',
  },
  {
    row: 24,
    fault: 'Hostile bodies (depth, number of keys, `__proto__`, huge numbers, slow headers)',
    promise: 'The right 4xx; the event loop stays responsive',
    tests: test('api/hostileInput', 'is limited to 20,000 values', 'a list of event types of half a million elements'),
  },
  {
    row: 25,
    fault: 'Audit records changed, removed, reordered',
    promise: 'Every read and write of health data leaves a record; verification finds every change',
    tests: [
      // The last test of each file counts what the others found.
      ...test(
        'audit/coverage',
        '%s leaves one record',
        'promise 25: every endpoint that shows or changes data leaves a record',
      ),
      ...test(
        'audit/tampering',
        'detects a changed %s',
        'detects a deleted record even if later ones are renumbered',
        'detects a record that was unlinked from the chain or replaced',
        'detects two swapped records: positions, links, contents',
        'detects a forged record, linked or not',
        'detects a truncated trail, even if the head is adjusted or deleted',
        'detects a changed or deleted head',
        'promise 25: every change was detected',
      ),
    ],
  },
  {
    row: 45,
    fault:
      'Two clients, two honest EMRs and a hostile one that names their endpoints as its own, with every way to sign in',
    promise:
      'No secret, assertion, code, verifier or token of one reaches another; the sign-in is refused before anything is sent',
    tests: [
      ...test('promises/trust', 'promise 45: $way (EMR app: $app) gives no server anything of another'),
      ...test(
        'linking/signInAttacks',
        'the signing key of one client does not sign for the client ID that another client has registered',
        'signs nothing for the token endpoint of another EMR that a server names',
        'a hostile sign-in page that sends the person on to an honest one gets neither the code nor the verifier',
        'are sent to the hosts that its owner listed, and to no other server that is linked',
      ),
    ],
  },
];
