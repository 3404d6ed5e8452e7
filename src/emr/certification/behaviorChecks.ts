import { inspect } from 'node:util';
import { type FailureCode, failures } from '../../catalog/failures.ts';
import { OutboundFailure } from '../../platform/security/outbound.ts';
import { EmrFailure, kind_codes } from '../emrFailure.ts';
import { collect, type ListName, skip } from '../operations/operation.ts';
import { list_names, read_names, type WriteName, write_names } from '../operations/operations.ts';
import { type Call, type Check, type Environment, expectFailure, fail, type Interceptor } from './environment.ts';
import { isWrite } from './interceptors.ts';
import { requireList } from './listChecks.ts';
import { prepareWrite } from './preparedWrites.ts';
import { readSample } from './readChecks.ts';
import { attemptSignIn } from './signInChecks.ts';

/** Cancellation, parallel lanes, expired and ended sessions, and the texts of failures. */
export const behaviorChecks: readonly Check[] = [
  {
    id: 'stop.before',
    expectation: 'work that was stopped before it started sends no request',
    run: async (env) => {
      const stop = new AbortController();
      stop.abort();
      let sent = 0;
      const intercept: Interceptor = (_, pass, { signal }) => {
        if (!signal?.aborted) sent++;
        return pass();
      };
      const name = await firstList(env);
      const { emr } = await env.open({ intercept, signal: stop.signal });
      await expectFailure(env, 'stopped before the start', () => collect(requireList(emr, name)()), ['unavailable']);
      if (sent > 0) fail('a request was sent');
    },
  },
  {
    id: 'stop.read',
    expectation: 'a stopped read ends immediately and sends no further request',
    run: async (env) => {
      const name = await firstList(env);
      const { intercept, started, stop } = holdCall(() => true);
      const { emr, calls } = await env.open({ intercept, signal: stop.signal });
      const reading = expectFailure(env, 'a stopped read', () => collect(requireList(emr, name)()), ['unavailable']);
      await Promise.race([started, reading]);
      stop.abort();
      await endsSoon(reading, 'a stopped read');
      if (calls.length > 1) fail('another request was sent');
    },
  },
  {
    id: 'stop.write',
    expectation: 'a write that is stopped in transit ends immediately as unknown_outcome',
    run: async (env) => {
      const name = await firstWrite(env);
      const { intercept, started, stop } = holdCall(isWrite);
      const { write, input, marker } = await prepareWrite(env, name, intercept, stop.signal);
      const writing = expectFailure(env, 'a stopped write', () => write.send(input, marker), ['unknown_outcome']);
      await Promise.race([started, writing]);
      stop.abort();
      await endsSoon(writing, 'a stopped write');
    },
  },
  {
    id: 'lanes.parallel',
    expectation: 'parallel_max lanes can write at the same time',
    run: async (env) => {
      const name = await firstWrite(env);
      const trials = [];
      for (let lane = 0; lane < env.connector.limits.parallel_max; lane++) trials.push(await prepareWrite(env, name));
      const written = await Promise.all(trials.map(({ write, input, marker }) => env.track(write.send(input, marker))));
      if (new Set(written.map(({ ehr_id }) => ehr_id)).size !== trials.length) fail('two lanes wrote the same record');
    },
  },
  {
    id: 'session.expired',
    expectation: 'an expired session is renewed and the new grant saved, or the call fails as login_required',
    run: async (env) => {
      if (!env.endSession) return skip('sessions of this EMR cannot be ended from outside');
      await env.endSession();
      const { emr, saved } = await env.open();
      const name = await firstList(env);
      const failure = await env.track(collect(requireList(emr, name)())).catch((error: unknown) => error);
      if (failure instanceof EmrFailure && failure.kind === 'login_required') return;
      if (failure instanceof Error) fail('the call failed, but not as login_required');
      const [grant] = saved;
      if (!grant) return;
      const again = await env.open({ grant });
      await collect(requireList(again.emr, name)());
      if (again.saved.length > 0) fail('the saved grant is not valid');
    },
  },
  {
    id: 'session.signed_out',
    expectation: 'signing out ends the session, and everything that could renew it without a person',
    run: async (env) => {
      const { connector, credentials } = env;
      if (!connector.signOut) return skip('the connector does not sign out');
      const name = await firstList(env);
      // Earlier checks may have let the session expire. Only one that still works can be ended.
      const before = await env.open();
      await env.track(collect(requireList(before.emr, name)()));
      const grant = before.saved.at(-1) ?? (await env.session()).grant;
      const ended = await env.track(connector.signOut(env.endpoint().endpoint, { credentials, grant }));
      if (!ended) return skip('this EMR cannot end a session');
      const after = await env.open({ grant });
      const failure = await env.track(collect(requireList(after.emr, name)())).catch((error: unknown) => error);
      if (failure instanceof EmrFailure && failure.kind === 'login_required') return;
      if (failure instanceof Error) fail('a call after signing out failed, but not as login_required');
      if (after.saved.length === 0) fail('the session still works after signing out');
      const again = await attemptSignIn(env, credentials);
      if (again.outcome !== 'signed_in') fail('the session was renewed after signing out, without a person');
    },
  },
  {
    id: 'session.login_required',
    expectation: 'when only a person can open a new session, every operation fails as login_required',
    run: async (env) => {
      if (!env.endLink) return skip('links of this EMR cannot be ended from outside');
      await env.endLink();
      const { emr, calls } = await env.open();
      for (const name of await supportedLists(env)) {
        const sent = calls.length;
        const read = collect(requireList(emr, name)());
        const succeeded = await read.then(
          () => true,
          () => false,
        );
        // A list that needs no request needs no session.
        if (succeeded && calls.length === sent) continue;
        await expectFailure(env, name, () => read, ['login_required']);
      }
    },
  },
  {
    id: 'capabilities.granted',
    expectation: 'no list or read that the account offers is refused by the EMR',
    run: async (env) => {
      const supported = await env.capabilities();
      const { emr } = await env.open();
      const probes = [
        ...(await supportedLists(env)).map((name) => [name, () => firstPage(requireList(emr, name)())] as const),
        ...read_names
          .filter((name) => supported.includes(name))
          .map((name) => [name, () => readSample(env, emr, name)] as const),
      ];
      for (const [name, request] of probes) {
        const failure = await env.track(request()).catch((error: unknown) => error);
        if (failure instanceof EmrFailure && failure.kind === 'refused') fail(`${name} is offered, but refused`);
      }
    },
  },
  {
    id: 'errors.no_secrets',
    expectation: 'no error, stack, cause or URL contains a secret',
    run: async (env) => {
      const secrets = await knownSecrets(env);
      const texts = env.failures.map(describeError).join('\n');
      if (secrets.some((secret) => texts.includes(secret))) fail('an error contains a secret');
      const urls = [...env.urls].flatMap((url) => [url, decodeURIComponent(url)]).join('\n');
      if (secrets.some((secret) => urls.includes(secret))) fail('a URL contains a secret');
    },
  },
  {
    id: 'errors.readable',
    expectation: 'every failure is an EmrFailure with a readable message: no HTML, JSON, URL or stack trace',
    run: async (env) => {
      for (const failure of env.failures) {
        if (!(failure instanceof EmrFailure)) return fail('an error other than EmrFailure was thrown');
        const { message, kind } = failure;
        if (!message.trim() || message.length > 1500) fail(`the message of a failure (${kind}) is empty or too long`);
        const raw = /<[a-z!]|[{[]"|https?:\/\/|\bat \S+:\d+/i.exec(message);
        if (raw) fail(`the message of a failure (${kind}) contains technical text`);
      }
    },
  },
  {
    id: 'errors.codes',
    expectation: 'every failure has a code of the failure catalogue that fits its kind',
    run: async (env) => {
      for (const failure of env.failures) {
        if (!(failure instanceof EmrFailure)) continue;
        const { code, kind } = failure;
        if (!Object.hasOwn(failures, code)) fail(`the code ${code} is not in the failure catalogue`);
        const final = kind === 'refused' || kind === 'not_found';
        if (final ? service_codes.has(code) : code !== kind_codes[kind]) fail(`the code ${code} does not fit ${kind}`);
      }
    },
  },
];

/** Codes that only the service itself uses, or that mean that the failure is not final. */
const service_codes = new Set<FailureCode>([
  'unavailable',
  'outcome_unknown',
  'login_required',
  'account_unlinked',
  'internal',
]);

/** Everything that could be logged of an error: its fields, its stack, and those of its causes. */
function describeError(error: unknown): string {
  const chain: unknown[] = [];
  for (
    let current = error;
    current !== undefined && chain.length < 20;
    current = current instanceof Error ? current.cause : undefined
  ) {
    chain.push(current);
  }
  return chain.map((one) => `${JSON.stringify(one)}${inspect(one, { depth: 10, showHidden: true })}`).join('\n');
}

async function firstPage(list: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of list) return;
}

async function supportedLists(env: Environment): Promise<ListName[]> {
  const supported = await env.capabilities();
  return list_names.filter((name) => supported.includes(name));
}

async function firstList(env: Environment): Promise<ListName> {
  const [first] = await supportedLists(env);
  return first ?? skip('the EMR supports no list');
}

async function firstWrite(env: Environment): Promise<WriteName> {
  if (!env.writes) skip('writing synthetic records is not allowed');
  const supported = await env.capabilities();
  return write_names.find((name) => supported.includes(name)) ?? skip('the EMR supports no write');
}

/** Holds a call until it is aborted, like a slow EMR. `started`: once a call is held. */
function holdCall(isHeld: (call: Call) => boolean) {
  const stop = new AbortController();
  let markStarted = () => {};
  const started = new Promise<void>((done) => {
    markStarted = done;
  });
  const intercept: Interceptor = (call, pass, { signal }) => {
    if (!isHeld(call)) return pass();
    markStarted();
    return new Promise((_, reject) => {
      const end = () => reject(new OutboundFailure('broken', 'The call was stopped.', { sent: true }));
      if (signal?.aborted) end();
      signal?.addEventListener('abort', end);
    });
  };
  return { intercept, started, stop };
}

const stop_ms_max = 5000;

/** An abort ends a call in milliseconds. A connector that ignores it waits for its own timeout. */
async function endsSoon(work: Promise<unknown>, name: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('late')), stop_ms_max);
  });
  await Promise.race([work, late]).catch((error: unknown) => {
    if (error instanceof Error && error.message === 'late')
      fail(`${name} was still running after ${stop_ms_max / 1000} s`);
    throw error;
  });
  clearTimeout(timer);
}

/** The entered secrets and the issued tokens. */
async function knownSecrets({ connector, credentials, session }: Environment): Promise<string[]> {
  const entered = connector.credential_fields.filter(({ secret }) => secret).map(({ name }) => credentials[name] ?? '');
  const { grant } = await session();
  const issued = Object.entries(grant).filter(([name]) => /token|secret|key|session/i.test(name));
  return [...entered, ...issued.map(([, value]) => value)].filter((secret) => secret.length >= 8);
}
