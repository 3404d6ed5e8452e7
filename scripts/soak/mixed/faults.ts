import { setTimeout as pause } from 'node:timers/promises';
import { type Chance, seededChance } from '../../../larkspur/seed/random.ts';
import { print, until } from '../../cluster/programs.ts';
import { type Account, receiver_paths } from './accounts.ts';
import type { FhirFault } from './fhirEmrs.ts';
import type { Installation, Slot } from './installation.ts';
import type { Interruptions } from './interruptions.ts';
import type { Load } from './load.ts';
import type { Operator } from './operator.ts';

/** What the faults act on, and where they note what they measured. */
export type Target = {
  installation: Installation;
  accounts: readonly Account[];
  operator: Operator;
  load: Load;
  interruptions: Interruptions;
  measured: Measured;
};

export type Measured = {
  /** How often each fault was caused and had an effect. */
  faults: Map<string, number>;
  /** How long the lanes of a killed or frozen worker waited for another one. */
  resumed_ms: number[];
  /** How long no write was acknowledged after the database was stopped. */
  database_back_ms: number[];
  /** Outages in progress, and how many there were. A time is noted only if it is that of a single outage. */
  outages: { current: number; total: number };
  run_again: number;
  rewrapped_keys: number;
  syncs: number;
};

/** `act` returns whether it had an effect: the process may be down already, or another fault may be acting on it. */
type Fault = { name: string; weight: number; act(target: Target, chance: Chance): Promise<boolean> };

/** Longer than the lease of 15 s, so that another worker has taken over. */
const frozen_ms = 18_000;
const pause_ms = { min: 1_000, more: 5_000 };

/** The order of faults, and what each of them picks, follow from the seed; their exact times do not. */
export async function causeFaults(target: Target, options: { seed: number; until: number }): Promise<void> {
  const chance = seededChance(options.seed);
  const weighted = faults.flatMap((fault) => Array.from({ length: fault.weight }, () => fault));
  const lasting: Promise<void>[] = [];
  while (Date.now() < options.until) {
    await pause(pause_ms.min + chance.below(pause_ms.more));
    const fault = weighted[chance.below(weighted.length)];
    if (!fault) continue;
    print(`fault: ${fault.name}`);
    // Faults that last, such as a frozen worker, overlap with the next ones.
    lasting.push(fault.act(target, chance).then((effective) => noteFault(target.measured, fault.name, effective)));
  }
  await Promise.all(lasting);
}

const faults: readonly Fault[] = [
  { name: 'worker killed', weight: 4, act: (target) => withSlot(target, 'worker', killWorker) },
  { name: 'worker frozen past its lease', weight: 2, act: (target) => withSlot(target, 'worker', freezeWorker) },
  {
    name: 'worker restarted',
    weight: 1,
    act: (target) => withSlot(target, 'worker', (slot) => restart(slot, target, 'SIGTERM')),
  },
  {
    name: 'API killed',
    weight: 3,
    act: (target) => withSlot(target, 'api', (slot) => restart(slot, target, 'SIGKILL')),
  },
  {
    name: 'EMR killed',
    weight: 1,
    act: (target) => withSlot(target, 'emr', (slot) => restart(slot, target, 'SIGKILL')),
  },
  { name: 'database stopped (fast)', weight: 1, act: (target) => stopDatabase(target, 'SIGINT') },
  { name: 'database stopped (immediate)', weight: 1, act: (target) => stopDatabase(target, 'SIGQUIT') },
  { name: 'database connections cut', weight: 2, act: cutConnections },
  { name: 'EMR failing', weight: 9, act: failEmr },
  { name: 'EMR with refresh tokens failing', weight: 4, act: failFhirEmr },
  { name: 'access tokens ended', weight: 3, act: endAccessTokens },
  { name: 'sign-in ended by the EMR', weight: 1, act: endSignIn },
  { name: 'account re-linked while its jobs run', weight: 4, act: relinkDuringJobs },
  { name: 'syncs while writes commit', weight: 4, act: syncDuringWrites },
  { name: 'receiver flapping', weight: 5, act: flapReceiver },
  { name: 'EMR sessions expired', weight: 1, act: (target) => expireSessions(target, 'session') },
  { name: 'EMR links expired', weight: 2, act: (target) => expireSessions(target, 'link') },
  { name: 'failed jobs run again', weight: 2, act: runAgain },
  { name: 'master key rotated', weight: 1, act: rotateKey },
];

function noteFault({ faults: counts }: Measured, name: string, effective: boolean): void {
  if (effective) counts.set(name, (counts.get(name) ?? 0) + 1);
  else print(`without effect: ${name}`);
}

/** Acts on a process that no other fault acts on. Without effect if there is none. */
async function withSlot(
  target: Target,
  role: Slot['role'],
  act: (slot: Slot, target: Target) => Promise<void>,
): Promise<boolean> {
  const slot = target.installation.slots.find((each) => each.role === role && !each.busy);
  if (!slot) return false;
  slot.busy = true;
  try {
    await act(slot, target);
    return true;
  } finally {
    slot.busy = false;
  }
}

/** Causes an outage and passes its length to `note`, unless another one overlapped with it. */
async function during({ outages }: Measured, cause: () => Promise<number | undefined>, note: (ms: number) => void) {
  outages.current++;
  outages.total++;
  const { current, total } = outages;
  try {
    const length_ms = await cause();
    if (current === 1 && total === outages.total && length_ms !== undefined) note(length_ms);
  } finally {
    outages.current--;
  }
}

async function restart(slot: Slot, { measured, interruptions }: Target, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const cause = async () => {
    const pid = slot.pid();
    await slot.kill(signal);
    // A process that is asked to stop finishes what it holds.
    if (signal === 'SIGKILL') await interruptions.noteProcess(pid);
    await slot.start();
    return undefined;
  };
  await during(measured, cause, () => {});
}

async function killWorker(slot: Slot, target: Target): Promise<void> {
  const abandoned = await readLanes(target, slot.pid());
  const cause = async () => {
    const killed_at = Date.now();
    const pid = slot.pid();
    await slot.kill('SIGKILL');
    await target.interruptions.noteProcess(pid);
    const [resumed_ms] = await Promise.all([untilResumed(target, abandoned, killed_at), slot.start()]);
    return resumed_ms;
  };
  await during(target.measured, cause, (ms) => target.measured.resumed_ms.push(ms));
}

async function freezeWorker(slot: Slot, target: Target): Promise<void> {
  const cause = async () => {
    process.kill(slot.pid(), 'SIGSTOP');
    const frozen_at = Date.now();
    await target.interruptions.noteProcess(slot.pid(), frozen_ms);
    const abandoned = await readLanes(target, slot.pid());
    // Not only after its lanes were claimed again: if all workers are frozen, nobody claims them.
    const thaw = async () => {
      await pause(frozen_ms);
      process.kill(slot.pid(), 'SIGCONT');
    };
    const [resumed_ms] = await Promise.all([untilResumed(target, abandoned, frozen_at), thaw()]);
    return resumed_ms;
  };
  await during(target.measured, cause, (ms) => target.measured.resumed_ms.push(ms));
}

type Claim = { id: string; fence: number };

/** The lanes that a worker holds: its process is part of the owner's name. */
async function readLanes({ installation: { sql } }: Target, pid: number): Promise<Claim[]> {
  // Empty while the database is down.
  return sql<Claim[]>`SELECT id, fence FROM lanes WHERE owner LIKE ${`%:${pid}:%`}`.catch(() => []);
}

/** Waits until every claim has been replaced by a newer one, or its lane is gone. Undefined if there was none. */
async function untilResumed({ installation: { sql } }: Target, claims: Claim[], since: number) {
  if (claims.length === 0) return undefined;
  const ids = claims.map(({ id }) => id);
  const fences = new Map(claims.map(({ id, fence }) => [id, fence]));
  await until(
    'the lanes of a killed worker are claimed again',
    async () => {
      const rows = await sql<
        Claim[]
      >`SELECT id, fence FROM lanes WHERE id = ANY (${ids}::uuid[]) AND owner IS NOT NULL`;
      return rows.every(({ id, fence }) => fence !== fences.get(id));
    },
    180_000,
  );
  return Date.now() - since;
}

async function stopDatabase(target: Target, signal: 'SIGINT' | 'SIGQUIT'): Promise<boolean> {
  const { installation, load, measured, interruptions } = target;
  let stopped = false;
  const cause = async () => {
    const stopped_at = Date.now();
    // It may be down already.
    stopped = await succeeds(installation.stopDatabase(signal));
    if (!stopped) return undefined;
    let paused = false;
    const isBack = () => {
      paused ||= load.isPaused();
      // What was in progress may still end.
      return load.lastAt() > stopped_at + 500;
    };
    await until('writes are accepted again', isBack, 120_000).finally(() =>
      interruptions.noteDatabase(stopped_at, Date.now()),
    );
    // While nothing is sent, nothing can be accepted.
    return paused ? undefined : load.lastAt() - stopped_at;
  };
  await during(measured, cause, (ms) => measured.database_back_ms.push(ms));
  return stopped;
}

async function cutConnections({ installation: { sql }, interruptions }: Target, chance: Chance): Promise<boolean> {
  const cut_at = Date.now();
  const cut = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE usename LIKE 'chartwire_%' AND pid % 2 = ${chance.below(2)}`.catch(() => []);
  interruptions.noteDatabase(cut_at, Date.now());
  return cut.length > 0;
}

const emr_faults = ['delay', 'error_500', 'error_429', 'reset', 'truncate', 'html', 'empty', 'lose_answer', 'refuse'];
const emr_reads = ['find_receipt', 'list_patients', 'login_device'];

/** Mostly writes fail, and sometimes what the service reads to look up a write. Delays exceed the timeout of 10 s. */
async function failEmr({ installation }: Target, chance: Chance): Promise<boolean> {
  const kind = emr_faults[chance.below(emr_faults.length)];
  const writes_only = kind === 'lose_answer' || kind === 'refuse';
  const operation = !writes_only && chance.happens(0.3) ? emr_reads[chance.below(emr_reads.length)] : '*';
  const times = 1 + chance.below(8);
  const delay = kind === 'delay' ? { delay_ms: 500 + chance.below(12_000) } : {};
  // The EMR may be down itself.
  return succeeds(installation.control('POST', '/control/faults', { operation, kind, times, ...delay }));
}

const fhir_faults = ['reset', 'hang', 'truncated', 'html_500', 'error_503', 'too_many', 'unauthorized'] as const;

/** The next writes fail, each of them performed or not, as far as the response leaves that open. */
async function failFhirEmr({ installation: { fhir_emrs } }: Target, chance: Chance): Promise<boolean> {
  const kind = chance.pick(fhir_faults);
  const performed = !['error_503', 'too_many', 'unauthorized'].includes(kind) && chance.happens(0.5);
  const creates = chance.happens(0.7);
  const type = creates ? chance.pick(['Patient', 'Appointment']) : 'Patient';
  const request = creates
    ? ({ method: 'POST', path: `/fhir/R4/${type}`, exact: true } as const)
    : ({ method: 'PUT', path: `/fhir/R4/${type}/`, exact: false } as const);
  // A second refusal of a renewed token means that the sign-in has ended.
  const times = kind === 'unauthorized' ? 1 : 1 + chance.below(4);
  const fail: FhirFault = { kind, ...request, times, performed };
  fhir_emrs[chance.below(fhir_emrs.length)]?.send({ fail });
  return true;
}

/** As after a restart of an EMR: all jobs find their tokens refused at the same time. */
async function endAccessTokens({ installation: { fhir_emrs } }: Target): Promise<boolean> {
  for (const emr of fhir_emrs) emr.send({ end_access_tokens: true });
  return true;
}

/** Then the account has to ask for a sign-in. */
async function endSignIn({ accounts, interruptions }: Target, chance: Chance): Promise<boolean> {
  const revocable = accounts.filter((account) => account.endSignIn);
  const account = revocable[chance.below(revocable.length)];
  if (!account) return false;
  interruptions.noteGrants([account]);
  account.endSignIn?.();
  return true;
}

/** Without effect if no job of the account was running when the new sign-in was stored. */
async function relinkDuringJobs(
  { installation: { sql }, accounts, interruptions }: Target,
  chance: Chance,
): Promise<boolean> {
  const account = accounts[chance.below(accounts.length)];
  if (!account) return false;
  const started_at = new Date();
  if (!(await interruptions.relink(account))) return false;
  const { org_id, user_id } = account;
  const [row] = await sql<{ during: boolean }[]>`
    SELECT EXISTS (
      SELECT FROM jobs JOIN accounts ON accounts.id = jobs.account_id JOIN organizations ON organizations.id = jobs.organization_id
       WHERE org_id = ${org_id} AND user_id = ${user_id} AND jobs.started_at < linked_at
         AND coalesce(jobs.finished_at, 'infinity') > linked_at AND linked_at > ${started_at}) AS during`.catch(
    () => [],
  );
  return row?.during ?? false;
}

const slow_lists = { times: 6, delay_ms: 1_500 };

/** The pages of the practices that are read over HTTP with faults arrive late, so that writes commit before they are stored. */
async function syncDuringWrites({ installation, accounts, measured }: Target): Promise<boolean> {
  const delay = { operation: 'list_patients', kind: 'delay', ...slow_lists };
  await succeeds(installation.control('POST', '/control/faults', delay));
  const practices = new Map(accounts.map((account) => [account.org_id, account]));
  const requested = await Promise.all(
    [...practices.values()].map(({ call }) => succeeds(call('POST', '/v1/sync', {}))),
  );
  const syncs = requested.filter((accepted) => accepted).length;
  measured.syncs += syncs;
  return syncs > 0;
}

const flapping_ms = { min: 15_000, more: 20_000 };

async function flapReceiver({ installation: { receivers } }: Target, chance: Chance): Promise<boolean> {
  const path = receiver_paths[chance.below(receiver_paths.length)];
  if (path === undefined) return false;
  receivers.send({ path, flapping: true });
  await pause(flapping_ms.min + chance.below(flapping_ms.more));
  receivers.send({ path, flapping: false });
  return true;
}

async function expireSessions(target: Target, mode: 'session' | 'link'): Promise<boolean> {
  const { installation, interruptions, accounts } = target;
  // An EMR that is stopped in the middle of it may have ended them nevertheless.
  if (mode === 'link') interruptions.noteGrants(accounts.filter((account) => !account.endSignIn));
  return succeeds(installation.control('POST', '/control/sessions/expire', { mode }));
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

/** Documents are left out: their file is removed when the job ends. */
async function runAgain({ installation: { sql }, accounts, measured }: Target): Promise<boolean> {
  const before = measured.run_again;
  const failed = await sql<{ id: number; org_id: string; user_id: string }[]>`
    SELECT jobs.id, org_id, user_id FROM jobs JOIN accounts ON accounts.id = jobs.account_id
      JOIN organizations ON organizations.id = jobs.organization_id
     WHERE state IN ('failed', 'partial') AND jobs.type NOT IN ('document.upload', 'sync')
       AND NOT EXISTS (SELECT FROM jobs AS newer WHERE newer.run_again_of = jobs.id)
     ORDER BY jobs.id DESC LIMIT 10`.catch(() => []);
  for (const { id, org_id, user_id } of failed) {
    const account = accounts.find((each) => each.org_id === org_id && each.user_id === user_id);
    // Twice at once, of which one must be refused; both fail while the API is down or the change was superseded.
    const again = () => account?.call('POST', `/v1/jobs/${id}/run-again`, {});
    const [one, two] = await Promise.allSettled([again(), again()]);
    if (one?.status === 'fulfilled' || two?.status === 'fulfilled') measured.run_again++;
  }
  return measured.run_again > before;
}

async function rotateKey({ operator, measured }: Target): Promise<boolean> {
  // The API may be down.
  const { rewrapped } = await operator('POST', '/dashboard/api/encryption/rotate', {}).catch(() => ({ rewrapped: 0 }));
  measured.rewrapped_keys += rewrapped;
  return rewrapped > 0;
}
