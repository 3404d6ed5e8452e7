import { ApiError, apiError } from '../../catalog/errors.ts';
import { parseId } from '../../catalog/ids.ts';
import type { Connector, Credentials } from '../../emr/connector.ts';
import { operations, write_names } from '../../emr/operations/operations.ts';
import { type ReadSubject, read_subjects, type WriteSubject, write_subjects } from '../../model/consents.ts';
import { record_kinds } from '../../model/records/kinds.ts';
import type { Fragment, Tx } from '../../platform/db/database.ts';
import { getAccount, lockAccount, readAccount, type StoredAccount } from '../accounts/accounts.ts';
import { currentCredentials, requireConnector } from '../accounts/connectAccount.ts';
import { findEmrApp } from '../accounts/emrApps.ts';
import type { Context } from '../context.ts';
import type { JobState } from '../jobs/jobs.ts';
import { sync_type } from '../records/syncPasses.ts';
import { writes } from '../writes/writes.ts';
import { addLinkToken, consumeLinkToken, countPracticeEntries, type LinkPurpose } from './linkTokens.ts';
import { nameEmr } from './linkView.ts';
import { removePageSignIn } from './pageSignIns.ts';
import { addSession, type PracticeSession } from './practiceSessions.ts';
import { endUnusedSession, signInForLink } from './publicTokens.ts';

/** Each allows a few sign-ins. Enough for people, too few to guess a password through the page. */
export const entries_per_hour = 10;

/**
 * What the address of an account leads to. `sign_in`: a link token for a sign-in at its EMR. `no_sign_in`: it was linked
 * with credentials of a program, which say nothing about who enters them.
 */
export type PracticeEntry = { state: 'sign_in'; token: string } | { state: 'unlinked' | 'no_sign_in'; token: null };

/**
 * Starts a sign-in for the page of an account. Whoever knows the account's id can: it leads to the EMR's sign-in, and
 * says nothing about the account but whether it is linked.
 */
export async function startPracticeEntry(ctx: Context, account_id: string): Promise<PracticeEntry> {
  const id = parseId(account_id);
  const [owner] = id
    ? await ctx.db.system<{ client_id: string }[]>`SELECT client_id FROM accounts WHERE id = ${id}`
    : [];
  if (!id || !owner) throw apiError('practice_page_unknown');
  return ctx.db.tenant(owner.client_id, async (tx) => {
    await lockAccount(tx, id);
    const account = await readAccount(tx, id);
    if (!account) throw apiError('practice_page_unknown');
    if (account.status === 'revoked') return { state: 'unlinked', token: null };
    const connector = requireConnector(ctx, account.connector);
    const credentials = await currentCredentials(ctx, tx, account, account.credentials_sealed);
    if (!identifiesPerson(connector, credentials, account.emr_user_id)) return { state: 'no_sign_in', token: null };
    if ((await countPracticeEntries(tx, account)) >= entries_per_hour) throw apiError('practice_page_exhausted');
    return { state: 'sign_in', token: await addLinkToken(tx, toPurpose(account)) };
  });
}

/** A server that does not say who has signed in is known by the client ID, which all its users share. */
function identifiesPerson({ sign_in_ways }: Connector, credentials: Credentials, emr_user_id: string): boolean {
  if (!sign_in_ways) return true;
  const way = sign_in_ways.find(({ name }) => name === credentials.way);
  return way?.on_page === true && emr_user_id !== credentials.client_id;
}

/** Without the account: what is stored for it must not help to sign in. */
function toPurpose(account: StoredAccount): LinkPurpose {
  const { client_id, user_id, org_id, connector, emr_address, search_params, emr_app_id } = account;
  return {
    ...{ client_id, user_id, org_id, connector, emr_address, search_params, emr_app_id },
    ...{ account_id: null, callback_url: null, language: null, created_in: 'practice_page' },
    ...{ finds_practice: false, practice_id: null },
  };
}

type SignInInput = { credentials: Credentials; one_time_code: string | undefined };

/** Signs in at the EMR to find out who the person is. The grant is not stored: the session is ended or forgotten. */
export async function signInForPractice(
  ctx: Context,
  { client_id }: { client_id: string },
  link_token: string,
  input: SignInInput,
): Promise<SignedInPractice> {
  const person = await signInForLink(ctx, client_id, link_token, { ...input, practice_page: true }).catch(
    (error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== 'emr_user_mismatch') throw error;
      // The message of the error names the user of the account.
      throw apiError('practice_page_other_user');
    },
  );
  const { purpose, credentials, signed_in } = person;
  await endUnusedSession(ctx, purpose, { credentials, grant: signed_in.grant });
  const startSession = async (tx: Tx) => {
    if (!(await consumeLinkToken(tx, link_token, purpose.emr_address))) {
      throw apiError('link_token_invalid', undefined, { field: 'link_token' });
    }
    await removePageSignIn(tx, link_token);
    const [account] = await tx<{ id: string }[]>`
      SELECT accounts.id FROM accounts JOIN organizations ON organizations.id = accounts.organization_id
       WHERE org_id = ${purpose.org_id} AND user_id = ${purpose.user_id} AND emr_user_id = ${signed_in.user.ehr_id}`;
    if (!account) throw apiError('practice_page_other_user');
    return { session: await addSession(tx, { client_id, account_id: account.id }), account_id: account.id };
  };
  return { startSession };
}

/** Starts the session, in a transaction of the caller. */
export type SignedInPractice = { startSession(tx: Tx): Promise<{ session: string; account_id: string }> };

/** Writes that are shown one by one, and how far back writes are counted. */
const recent_writes = 10;
const counted_days = 30;
/** The newest requests of the client among which those of the account are looked for: they have no index by account. */
const requests_searched = 20_000;

export type PracticeWrite = {
  subject: WriteSubject;
  requested_at: string;
  state: 'waiting' | 'saved' | 'partly_saved' | 'not_saved' | 'unclear';
};

/** What the practice is shown about an account. No patient is named, and nothing of other accounts. */
export type PracticeView = {
  account_id: string;
  status: StoredAccount['status'];
  organization: string;
  emr: string;
  emr_address: string;
  emr_user: string;
  linked_at: string;
  unlinked_at: string | null;
  /** The newest request of the application. */
  used_at: string | null;
  /** When data was last read from the EMR. */
  read_at: string | null;
  records: { subject: ReadSubject; count: number }[];
  counted_days: number;
  written: { subject: WriteSubject; count: number }[];
  writes: PracticeWrite[];
};

export async function describeForPractice(ctx: Context, session: PracticeSession): Promise<PracticeView> {
  const { client_id, account_id } = session;
  const account = await ctx.db.tenant(client_id, async (tx) => {
    const account = await getAccount(tx, account_id);
    const app = account.emr_app_id === null ? undefined : await findEmrApp(ctx, tx, account.emr_app_id);
    return { ...account, app };
  });
  const { host, pathname } = new URL(account.emr_address);
  const linked = account.status !== 'revoked';
  const [{ requested_at, ...times }, { written, writes: shown }] = await Promise.all([
    readTimes(ctx, session),
    readWrites(ctx, session),
  ]);
  return {
    account_id,
    status: account.status,
    organization: account.org_id,
    emr: nameEmr(requireConnector(ctx, account.connector), account.app, host),
    emr_address: `${host}${pathname.replace(/\/$/, '')}`,
    emr_user: account.emr_user_name,
    ...times,
    used_at: requested_at ?? shown[0]?.requested_at ?? null,
    // After the account was unlinked, the records are those of other accounts of the practice.
    records: linked ? await countRecords(ctx, account) : [],
    counted_days,
    written,
    writes: shown,
  };
}

type Times = Pick<PracticeView, 'linked_at' | 'unlinked_at' | 'read_at'> & { requested_at: string | null };

async function readTimes(ctx: Context, { client_id, account_id }: PracticeSession): Promise<Times> {
  const [row] = await ctx.db.search<Times>(
    client_id,
    (sql) => sql`
      SELECT iso(CASE WHEN unlinked_at IS NULL THEN created_at ELSE linked_at END) AS linked_at,
             CASE WHEN status = 'revoked' THEN iso(unlinked_at) END AS unlinked_at,
             (SELECT iso(max(newest.at)) FROM (SELECT requests.account_id, requests.at FROM requests
                WHERE requests.client_id = ${client_id} ORDER BY requests.id DESC LIMIT ${requests_searched}::int) AS newest
               WHERE newest.account_id = accounts.id) AS requested_at,
             (SELECT iso(jobs.finished_at) FROM jobs
               WHERE jobs.organization_id = accounts.organization_id AND jobs.type = ${sync_type}
                 AND jobs.state = 'succeeded' ORDER BY jobs.id DESC LIMIT 1) AS read_at
        FROM accounts WHERE accounts.id = ${account_id}`,
  );
  if (!row) throw apiError('practice_session_invalid');
  return row;
}

/** What is stored of each subject. Code lists and names that say nothing about a person are left out. */
async function countRecords(
  ctx: Context,
  { client_id, organization_id }: StoredAccount,
): Promise<PracticeView['records']> {
  const rows = await ctx.db.search<{ subject: ReadSubject; count: number }>(client_id, (sql) => {
    const counts = record_kinds.flatMap(({ name, consent, counted }): Fragment[] => {
      if (consent === null) return [];
      const total = counted
        ? sql`(SELECT coalesce(sum(total), 0) FROM record_counts
                WHERE organization_id = ${organization_id} AND kind = ${name})`
        : sql`(SELECT count(*) FROM ${sql(name)}
                WHERE client_id = ${client_id} AND organization_id = ${organization_id})`;
      return [sql`SELECT ${consent}::text AS subject, ${total} AS total`];
    });
    const all = counts.reduce((before, each) => sql`${before} UNION ALL ${each}`);
    return sql`SELECT subject, sum(total)::int AS count FROM (${all}) AS kinds GROUP BY subject HAVING sum(total) > 0`;
  });
  return read_subjects.flatMap((subject) => rows.filter((row) => row.subject === subject));
}

/** What each type of job writes. Those that only read are left out. */
export const written_subjects: ReadonlyMap<string, WriteSubject> = new Map(
  writes.flatMap(({ type, needs }) => {
    const [write] = write_names.filter((name) => needs.includes(name));
    return write === undefined ? [] : [[type, operations[write].consent] as const];
  }),
);

type Writes = Pick<PracticeView, 'written' | 'writes'>;

async function readWrites(ctx: Context, { client_id, account_id }: PracticeSession): Promise<Writes> {
  const types = [...written_subjects.keys()];
  const [counted, recent] = await Promise.all([
    ctx.db.search<{ type: string; count: number }>(
      client_id,
      (sql) => sql`
        SELECT type, count(DISTINCT operation_id)::int AS count FROM jobs
         WHERE account_id = ${account_id} AND created_at > now() - make_interval(days => ${counted_days})
           AND type = ANY (${types}) AND state IN ('succeeded', 'partial') GROUP BY type`,
    ),
    ctx.db.search<{ type: string; requested_at: string; state: JobState }>(
      client_id,
      (sql) => sql`
        SELECT type, iso(created_at) AS requested_at, state FROM jobs
         WHERE account_id = ${account_id} AND type = ANY (${types})
         ORDER BY created_at DESC, id DESC LIMIT ${recent_writes}::int`,
    ),
  ]);
  const written = write_subjects.flatMap((subject) => {
    const same = counted.filter(({ type }) => written_subjects.get(type) === subject);
    const count = same.reduce((sum, each) => sum + each.count, 0);
    return count === 0 ? [] : [{ subject, count }];
  });
  const shown = recent.flatMap(({ type, requested_at, state }): PracticeWrite[] => {
    const subject = written_subjects.get(type);
    return subject === undefined ? [] : [{ subject, requested_at, state: shown_states[state] }];
  });
  return { written, writes: shown };
}

const shown_states: Record<JobState, PracticeWrite['state']> = {
  queued: 'waiting',
  running: 'waiting',
  succeeded: 'saved',
  partial: 'partly_saved',
  failed: 'not_saved',
  cancelled: 'not_saved',
  needs_review: 'unclear',
};
