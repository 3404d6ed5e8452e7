import { type Evidence, type Interruption, in_transit_ms, type User } from './evidence.ts';

/** An account of the run. */
type AccountRow = User & { id: string; emr: string; emr_user: string };

function listAccounts({ sql }: Evidence): Promise<AccountRow[]> {
  return sql<AccountRow[]>`
    SELECT accounts.id::text, org_id, user_id, emr_address AS emr, emr_user_id AS emr_user
      FROM accounts JOIN organizations ON organizations.id = organization_id`;
}

/**
 * A sign-in is needed after the EMR ended the last one, or after a process was killed while it renewed it: the EMR may
 * have issued a refresh token that nobody has. Each of these explains one request for a sign-in, and none after a new
 * sign-in that was started later.
 */
export async function neededSignIns(evidence: Evidence) {
  const { sql, interruptions } = evidence;
  const accounts = new Map((await listAccounts(evidence)).map((account) => [account.id, account]));
  const events = await sql<{ id: string; account_id: string; at: Date }[]>`
    SELECT id::text, account_id::text, created_at AS at FROM events WHERE type = 'login_required' ORDER BY created_at`;
  const last_requested_at = new Map<string, number>();
  const unneeded = events.filter(({ account_id, at }) => {
    const account = accounts.get(account_id);
    const from = last_requested_at.get(account_id) ?? 0;
    last_requested_at.set(account_id, at.getTime());
    return !account || !hasReason(account, interruptions, from, at.getTime());
  });
  return { checked: events.length, violations: unneeded.map(({ id }) => id) };
}

/** Whether something ended the account's sign-in after `from`, and no new one came between that and `to`. */
function hasReason(account: AccountRow, interruptions: readonly Interruption[], from: number, to: number): boolean {
  const links = interruptions.filter((each) => each.kind === 'linked' && isSameUser(each.user, account));
  return interruptions.some((each) => {
    if (each.at <= from || each.at > to || !endsSignIn(each, account)) return false;
    return !links.some((link) => link.at > each.at && link.kind === 'linked' && link.until < to);
  });
}

function endsSignIn(interruption: Interruption, account: AccountRow): boolean {
  if (interruption.kind === 'process') return interruption.renewals.includes(account.id);
  return interruption.kind === 'grants' && interruption.users.some((user) => isSameUser(user, account));
}

function isSameUser(one: User, other: User): boolean {
  return one.org_id === other.org_id && one.user_id === other.user_id;
}

/** A token of a sign-in that the EMR has ended is refused, however often it is sent: it was not redeemed. */
export async function redemptions(evidence: Evidence) {
  const { token_uses, interruptions } = evidence;
  const accounts = await listAccounts(evidence);
  const redeemed = new Map<string, number>();
  const repeated: string[] = [];
  for (const use of token_uses) {
    if (use.kind !== 'redemption') continue;
    const before = redeemed.get(use.token_sha256);
    if (use.accepted) redeemed.set(use.token_sha256, use.at);
    if (before === undefined) continue;
    const account = accounts.find(({ emr, emr_user }) => emr === use.emr && emr_user === use.emr_user);
    const lost = interruptions.some(
      (each) =>
        each.kind === 'process' &&
        each.at > before - in_transit_ms &&
        each.at < use.at &&
        account &&
        each.renewals.includes(account.id),
    );
    if (!lost) repeated.push(use.token_sha256);
  }
  return { checked: redeemed.size, violations: repeated };
}

export async function foreignCredentials({ token_uses }: Evidence) {
  const credentials = token_uses.filter((use) => use.kind === 'credential');
  const foreign = credentials.filter(({ issued_here }) => !issued_here);
  return { checked: credentials.length, violations: foreign.map(({ sha256 }) => sha256) };
}

/** Of the EMRs that note who sent a write. */
export async function accountUsers(evidence: Evidence) {
  const { sql, ledger } = evidence;
  const rows = await sql<{ operation_id: string; emr_user: string }[]>`
    SELECT replace(operations.id::text, '-', '') AS operation_id, emr_user_id AS emr_user
      FROM operations JOIN accounts ON accounts.id = operations.account_id`;
  const users = new Map(rows.map(({ operation_id, emr_user }) => [operation_id, emr_user]));
  const named = ledger.filter(({ emr_user }) => emr_user !== undefined);
  const foreign = named.filter(({ marker, emr_user }) => {
    const operation_id = marker?.slice(0, marker.lastIndexOf('-')).replaceAll('-', '') ?? '';
    return users.get(operation_id) !== emr_user;
  });
  return { checked: named.length, violations: foreign.map(({ marker }) => marker ?? '') };
}
