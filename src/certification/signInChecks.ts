import type { Credentials, SignIn } from '../connectors/connector.ts';
import { isZone } from '../time/zones.ts';
import { type Check, expectFailure } from './check.ts';
import type { Environment } from './environment.ts';
import { respondWith, unreachable, unusable_responses } from './interceptors.ts';
import { fail, skip } from './outcomes.ts';

/** Successful and refused sign-ins. */
export const signInChecks: readonly Check[] = [
  {
    id: 'sign_in.wrong_secret',
    expectation: 'a wrong secret is refused with the reason credentials, secret or access',
    run: async (env) => {
      const response = await attemptSignIn(env, withWrongSecret(env));
      if (response.outcome === 'signed_in') fail('a wrong secret was accepted');
      // An EMR that asks for the code before it checks the password refuses the code instead.
      if (response.outcome === 'code_required') return;
      if (!['credentials', 'secret', 'access'].includes(response.reason))
        fail(`refused with the reason ${response.reason}`);
    },
  },
  {
    id: 'sign_in.unreachable',
    expectation: 'an unreachable EMR is unavailable, not a wrong password',
    run: async (env) => {
      const { endpoint } = env.endpoint({ intercept: unreachable });
      await expectFailure(env, 'unreachable', () => signIn(env, endpoint), ['unavailable']);
    },
  },
  {
    id: 'sign_in.unusable_response',
    expectation: 'an unusable response is unavailable or refused, not a wrong password',
    run: async (env) => {
      for (const [situation, make] of Object.entries(unusable_responses)) {
        const { endpoint } = env.endpoint({ intercept: respondWith(make) });
        await expectFailure(env, situation, () => signIn(env, endpoint), ['unavailable', 'refused']);
      }
    },
  },
  {
    id: 'sign_in.success',
    expectation: 'correct credentials return a grant, the user and, if known, the time zone',
    run: async (env) => {
      const { user, timezone, grant } = await env.signIn();
      if (!user.ehr_id.trim() || !user.name.trim()) fail('the user has no id or no name');
      if (timezone !== undefined && !isZone(timezone)) fail('the time zone is not an IANA name');
      if (Object.values(grant).some((value) => typeof value !== 'string'))
        fail('the grant contains a value that is not a string');
      const repeats = JSON.stringify(grant).includes(JSON.stringify(env.credentials).slice(1, -1));
      if (repeats) fail('the grant contains the credentials');
    },
  },
  {
    id: 'sign_in.code',
    expectation:
      'if the EMR requires a one-time code, a missing code returns code_required and a wrong one is refused with the reason code',
    run: async (env) => {
      await env.session();
      const without = await attemptSignIn(env, env.credentials);
      if (without.outcome === 'signed_in') skip('the EMR requires no one-time code');
      if (without.outcome !== 'code_required') fail(`without a code, the sign-in returned ${without.outcome}`);
      const response = await attemptSignIn(env, env.credentials, '000000');
      if (response.outcome !== 'refused' || response.reason !== 'code')
        fail('a wrong code was not refused with the reason code');
    },
  },
];

/** A sign-in besides the one of `env.signIn`, which is the only one with a valid code. */
export function attemptSignIn(env: Environment, credentials: Credentials, code?: string): Promise<SignIn> {
  return env.track(env.connector.signIn(env.endpoint().endpoint, credentials, code));
}

function signIn(env: Environment, endpoint: Parameters<Environment['connector']['signIn']>[0]): Promise<SignIn> {
  return env.connector.signIn(endpoint, env.credentials, '000000');
}

/** One wrong attempt only, because some EMRs lock a user out after a few. */
function withWrongSecret({ connector, credentials }: Environment): Credentials {
  const secret = connector.credential_fields.find(({ name, secret }) => secret && credentials[name]);
  if (!secret) return skip('no secret is used');
  const value = credentials[secret.name] ?? '';
  return { ...credentials, [secret.name]: `${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}` };
}
