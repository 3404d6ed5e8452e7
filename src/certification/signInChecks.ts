import type { Credentials, SignIn } from '../connectors/connector.ts';
import { type Check, fail, failureOf, skip } from './check.ts';
import type { Environment } from './environment.ts';
import { answering, unreachable, useless } from './interceptors.ts';
import { isZone } from './invalidValues.ts';

/** How a person is let in, and how refused. A wrong code is told from wrong credentials only where those were right. */
export const signInChecks: readonly Check[] = [
  {
    id: 'sign_in.wrong_secret',
    promise: 'a wrong secret is refused, and the apiError says that it is the credentials',
    run: async (env) => {
      const answer = await trySignIn(env, wrong(env));
      if (answer.outcome === 'signed_in') fail('a wrong secret was let in');
      // Asking for the code before it tells whether the password was right: then the code is what is refused.
      if (answer.outcome === 'code_required') return;
      if (answer.reason !== 'credentials' && answer.reason !== 'access') fail(`refused because of ${answer.reason}`);
    },
  },
  {
    id: 'sign_in.unreachable',
    promise: 'an EMR that cannot be reached is unavailable, never a wrong password',
    run: async (env) => {
      const { endpoint } = env.endpoint({ intercept: unreachable });
      await failureOf(env, 'nobody at the address', () => signIn(env, endpoint), ['unavailable']);
    },
  },
  {
    id: 'sign_in.strangers',
    promise: 'whatever else answers at the address lets nobody in and is no apiError of the credentials',
    run: async (env) => {
      for (const [what, make] of Object.entries(useless)) {
        const { endpoint } = env.endpoint({ intercept: answering(make) });
        await failureOf(env, what, () => signIn(env, endpoint), ['unavailable', 'refused']);
      }
    },
  },
  {
    id: 'sign_in.good',
    promise:
      'right credentials open a session, and say who the person is and, where it is told, which clock the EMR goes by',
    run: async (env) => {
      const { user, timezone, grant } = await env.signIn();
      if (!user.ehr_id.trim() || !user.name.trim()) fail('the person has no id or no name');
      if (timezone !== undefined && !isZone(timezone)) fail('the time zone is not one of the IANA names');
      if (Object.values(grant).some((value) => typeof value !== 'string')) fail('the grant holds more than texts');
      const odd = JSON.stringify(grant).includes(JSON.stringify(env.credentials).slice(1, -1));
      if (odd) fail('the grant repeats the credentials');
    },
  },
  {
    id: 'sign_in.code',
    promise: 'where the EMR asks for a one-time code, none asks for one and a wrong one is refused as such',
    run: async (env) => {
      await env.session();
      const without = await trySignIn(env, env.credentials);
      if (without.outcome === 'signed_in') skip('this EMR asks for no one-time code');
      if (without.outcome !== 'code_required') fail(`without a code the sign-in ended as ${without.outcome}`);
      const answer = await trySignIn(env, env.credentials, '000000');
      if (answer.outcome !== 'refused' || answer.reason !== 'code') fail('a wrong code was not refused as a code');
    },
  },
];

function trySignIn(env: Environment, credentials: Credentials, code?: string): Promise<SignIn> {
  return env.watch(env.connector.signIn(env.endpoint().endpoint, credentials, code));
}

function signIn(env: Environment, endpoint: Parameters<Environment['connector']['signIn']>[0]): Promise<SignIn> {
  return env.connector.signIn(endpoint, env.credentials, '000000');
}

/** The first secret, wrong in one letter: some EMRs lock a person out after a few tries, so there is one. */
function wrong({ connector, credentials }: Environment): Credentials {
  const secret = connector.credential_fields.find(({ name, secret }) => secret && credentials[name]);
  if (!secret) return skip('there is no secret to get wrong');
  const value = credentials[secret.name] ?? '';
  return { ...credentials, [secret.name]: `${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}` };
}
