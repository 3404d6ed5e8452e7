/**
 * Runs the test server as a process of its own, for `npm run soak`. Its refresh tokens rotate at every renewal, its access
 * tokens are short-lived, and a refresh token that is sent a second time ends the sign-in, as strict servers do. The
 * parent sends faults. Writes and the use of tokens are noted in two files.
 */
import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import type { LedgerEntry, TokenUse } from '../../../scripts/soak/check/evidence.ts';
import type { FhirEmrMessage } from '../../../scripts/soak/mixed/fhirEmrs.ts';
import { readMarkers } from '../../../src/emr/fhir/transport/creates.ts';
import { type HandledEntry, startFhirServer } from './startFhirServer.ts';

const [ledger_file = '', token_file = ''] = process.argv.slice(2);

/** The service renews a token 10 s before it ends. */
const token_life_s = 20;
const ledger_length_max = 1_000;

const server = await startFhirServer({ data: 'small', onHandled: note });
Object.assign(server.faults, {
  token_life_s,
  refresh_rotates: true,
  refresh_reuse: 'ends_sign_in',
  // Long lists that the run does not read.
  withheld: { Claim: 'all', ServiceRequest: 'all', Slot: 'all' },
} satisfies Partial<typeof server.faults>);

const issued = new Set<string>();
const seen = new Set<string>();

process.on('message', (message: FhirEmrMessage) => {
  if ('redirect_uris' in message) {
    const { client_id } = server.clients.public;
    server.register({ client_id, redirect_uris: message.redirect_uris });
  } else if ('fail' in message) server.fail(message.fail);
  else if ('end_sign_ins_of' in message) server.endSignIns(message.end_sign_ins_of);
  else if ('end_access_tokens' in message) server.expireTokens('access');
});
process.on('disconnect', () => process.exit());
process.send?.({
  url: server.url,
  client_id: server.clients.public.client_id,
  people: server.people.map(({ username, password }) => ({ username, password })),
});

function note(entry: HandledEntry): void {
  if (entry.performed && entry.path.startsWith('/fhir/')) append(ledger_file, toLedgerEntry(entry));
  noteCredentials(entry);
  // The run takes long, and only the files are read.
  if (server.ledger.length > ledger_length_max) server.ledger.length = 0;
}

function toLedgerEntry({ method, path, body, user }: HandledEntry): LedgerEntry {
  const type = path.split('/')[3]?.split('?')[0] ?? '';
  return {
    operation: `${method} ${type}`,
    // The marker of this write is the last one; a record keeps those of earlier writes.
    marker: readMarkers(JSON.parse(body)).at(-1) ?? null,
    patient_mrn: null,
    at: new Date().toISOString(),
    applied: true,
    ...(user !== undefined && { emr_user: findFhirUser(user) }),
  };
}

/** Each credential once, and each refresh token as often as it was sent. */
function noteCredentials({ headers, body, path, status }: HandledEntry): void {
  const form = path === '/auth/token' ? new URLSearchParams(body) : undefined;
  const refresh_token = form?.get('refresh_token');
  if (refresh_token) {
    const user = server.findUser(refresh_token);
    append(token_file, {
      ...{ kind: 'redemption', at: Date.now(), emr: server.url, token_sha256: sha256(refresh_token) },
      emr_user: user === undefined ? null : findFhirUser(user),
      accepted: status === 200,
    });
  }
  for (const token of server.issued.splice(0)) issued.add(token);
  const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1];
  for (const credential of [bearer, refresh_token, form?.get('code')]) {
    if (!credential || seen.has(credential)) continue;
    seen.add(credential);
    const issued_here = issued.has(credential);
    append(token_file, { kind: 'credential', emr: server.url, sha256: sha256(credential), issued_here });
  }
}

function findFhirUser(username: string): string {
  return server.people.find((person) => person.username === username)?.fhir_user ?? '';
}

function append(file: string, line: LedgerEntry | TokenUse): void {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
