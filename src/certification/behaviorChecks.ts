import { inspect } from 'node:util';
import { EmrFailure } from '../connectors/connector.ts';
import { collect } from '../connectors/operations.ts';
import { OutboundFailure } from '../security/outbound.ts';
import { type Check, fail, failureOf, skip } from './check.ts';
import type { Call, Environment, Interceptor, ListName } from './environment.ts';
import { mayWrite } from './interceptors.ts';
import { listOf, lists } from './listChecks.ts';
import { trial } from './prepareWrite.ts';
import { samples, type WriteName } from './samples.ts';

/** How it behaves on the whole: stopped, at work in several lanes, when its session ends, and in what it says. */
export const behaviorChecks: readonly Check[] = [
  {
    id: 'stop.before',
    promise: 'work that was stopped before it began calls nobody',
    run: async (env) => {
      const stop = new AbortController();
      stop.abort();
      let sent = 0;
      const intercept: Interceptor = (_, pass, { signal }) => {
        if (!signal?.aborted) sent++;
        return pass();
      };
      const name = await anyList(env);
      const { emr } = await env.open({ intercept, signal: stop.signal });
      await failureOf(env, 'stopped beforehand', () => collect(listOf(emr, name)()), ['unavailable']);
      if (sent > 0) fail('a call went out all the same');
    },
  },
  {
    id: 'stop.reading',
    promise: 'a read that is stopped ends at once, and no further call goes out',
    run: async (env) => {
      const name = await anyList(env);
      const { intercept, held, stop } = holding(() => true);
      const { emr, calls } = await env.open({ intercept, signal: stop.signal });
      const reading = failureOf(env, 'a read that was stopped', () => collect(listOf(emr, name)()), ['unavailable']);
      await Promise.race([held, reading]);
      stop.abort();
      await soon(reading, 'a read that was stopped');
      if (calls.length > 1) fail('it went on to call');
    },
  },
  {
    id: 'stop.writing',
    promise: 'a write that is stopped on its way ends at once, and is of unknown outcome',
    run: async (env) => {
      const name = await anyWrite(env);
      const { intercept, held, stop } = holding(mayWrite);
      const { write, input, marker } = await trial(env, name, intercept, stop.signal);
      const writing = failureOf(env, 'a stopped write', () => write.send(input, marker), ['unknown_outcome']);
      await Promise.race([held, writing]);
      stop.abort();
      await soon(writing, 'a write that was stopped');
    },
  },
  {
    id: 'lanes.parallel',
    promise: 'as many lanes as it declares may be at work at once',
    run: async (env) => {
      const name = await anyWrite(env);
      const trials = [];
      for (let lane = 0; lane < env.connector.limits.parallel_max; lane++) trials.push(await trial(env, name));
      const written = await Promise.all(trials.map(({ write, input, marker }) => env.watch(write.send(input, marker))));
      if (new Set(written.map(({ ehr_id }) => ehr_id)).size !== trials.length) fail('two lanes wrote one record');
    },
  },
  {
    id: 'session.ended',
    promise: 'a session that ended is renewed and the new grant kept, or a person is asked for; it is no refusal',
    run: async (env) => {
      if (!env.endSession) return skip('the kit cannot end a session in this EMR');
      await env.endSession();
      const { emr, kept } = await env.open();
      const name = await anyList(env);
      const failure = await env.watch(collect(listOf(emr, name)())).catch((error: unknown) => error);
      if (failure instanceof EmrFailure && failure.kind === 'login_required') return;
      if (failure instanceof Error) fail('it ended neither well nor as login_required');
      const [grant] = kept;
      if (!grant) return;
      const again = await env.open({ grant });
      await collect(listOf(again.emr, name)());
      if (again.kept.length > 0) fail('the grant that was kept was not good');
    },
  },
  {
    id: 'session.link_ended',
    promise: 'when only a person can open a new session, every operation ends as login_required',
    run: async (env) => {
      if (!env.endLink) return skip('the kit cannot end a link in this EMR');
      await env.endLink();
      const { emr } = await env.open();
      for (const name of await offeredLists(env)) {
        if ((await env.callsOf(name)) === 0) continue;
        await failureOf(env, name, () => collect(listOf(emr, name)()), ['login_required']);
      }
    },
  },
  {
    id: 'words.secrets',
    promise: 'no secret stands in an error, in its stack or its causes, nor in an address that was called',
    run: async (env) => {
      const secrets = await secretsOf(env);
      const said = env.failures.map(everythingOf).join('\n');
      if (secrets.some((secret) => said.includes(secret))) fail('a secret stands in an error');
      const urls = [...env.urls].flatMap((url) => [url, decodeURIComponent(url)]).join('\n');
      if (secrets.some((secret) => urls.includes(secret))) fail('a secret stands in an address');
    },
  },
  {
    id: 'words.plain',
    promise: 'every failure is an EmrFailure in plain words: no page, no body, no address, no stack',
    run: async (env) => {
      for (const failure of env.failures) {
        if (!(failure instanceof EmrFailure)) return fail('an error of another kind was thrown');
        const { message, kind } = failure;
        if (!message.trim() || message.length > 1500) fail(`a failure (${kind}) has no words, or too many`);
        const raw = /<[a-z!]|[{[]"|https?:\/\/|\bat \S+:\d+/i.exec(message);
        if (raw) fail(`a failure (${kind}) shows what was meant for machines`);
      }
    },
  },
];

/** All that could ever be written of an error: its fields, its stack, and those of its causes. */
function everythingOf(error: unknown): string {
  const chain: unknown[] = [];
  for (let at = error; at !== undefined && chain.length < 20; at = at instanceof Error ? at.cause : undefined) {
    chain.push(at);
  }
  return chain.map((one) => `${JSON.stringify(one)}${inspect(one, { depth: 10, showHidden: true })}`).join('\n');
}

// The keys of the tables are the names of lists and writes; TypeScript gives them back as texts.
const list_names = Object.keys(lists) as ListName[];
const write_names = Object.keys(samples) as WriteName[];

async function offeredLists(env: Environment): Promise<ListName[]> {
  const offered = await env.offers();
  return list_names.filter((name) => offered.includes(name));
}

async function anyList(env: Environment): Promise<ListName> {
  const [first] = await offeredLists(env);
  return first ?? skip('this EMR offers no list');
}

async function anyWrite(env: Environment): Promise<WriteName> {
  if (!env.writes) skip('no synthetic records may be written here');
  const offered = await env.offers();
  return write_names.find((name) => offered.includes(name)) ?? skip('this EMR offers no write');
}

/** Keeps a call waiting until it is stopped, as a slow EMR would. */
function holding(of: (call: Call) => boolean) {
  const stop = new AbortController();
  let tellHeld = () => {};
  const held = new Promise<void>((done) => {
    tellHeld = done;
  });
  const intercept: Interceptor = (call, pass, { signal }) => {
    if (!of(call)) return pass();
    tellHeld();
    return new Promise((_, reject) => {
      const end = () => reject(new OutboundFailure('broken', 'The call was stopped.', { sent: true }));
      if (signal?.aborted) end();
      signal?.addEventListener('abort', end);
    });
  };
  return { intercept, held, stop };
}

const soon_ms = 5000;

/** The real thing ends in milliseconds; who does not listen would wait for its own time to run out. */
async function soon(work: Promise<unknown>, what: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), soon_ms);
  });
  await Promise.race([work, late]).catch((error: unknown) => {
    if (error instanceof Error && error.message === 'late')
      fail(`${what} was still going on ${soon_ms / 1000} s later`);
    throw error;
  });
  clearTimeout(timer);
}

/** What must not be said: secrets that were typed, and tokens that were given. */
async function secretsOf({ connector, credentials, session }: Environment): Promise<string[]> {
  const typed = connector.credential_fields.filter(({ secret }) => secret).map(({ name }) => credentials[name] ?? '');
  const { grant } = await session();
  const given = Object.entries(grant).filter(([name]) => /token|secret|key|session/i.test(name));
  return [...typed, ...given.map(([, value]) => value)].filter((secret) => secret.length >= 8);
}
