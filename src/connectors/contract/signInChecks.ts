import { isZone } from '../../time/zones.ts';
import type { Credentials, SignIn } from '../connector.ts';
import { broken, notTried } from './broken.ts';
import { type Check, failureOf } from './check.ts';
import type { Stand } from './stand.ts';
import { answering, unreachable, useless } from './tampers.ts';

/** How a person is let in, and how refused. A wrong code is told from wrong credentials only where those were right. */
export const signInChecks: readonly Check[] = [
  {
    id: 'sign_in.wrong_secret',
    promise: 'a wrong secret is refused, and the apiError says that it is the credentials',
    run: async (stand) => {
      const answer = await trySignIn(stand, wrong(stand));
      if (answer.outcome === 'signed_in') broken('a wrong secret was let in');
      // Asking for the code before it tells whether the password was right: then the code is what is refused.
      if (answer.outcome === 'code_required') return;
      if (answer.because !== 'credentials' && answer.because !== 'access')
        broken(`refused because of ${answer.because}`);
    },
  },
  {
    id: 'sign_in.unreachable',
    promise: 'an EMR that cannot be reached is unavailable, never a wrong password',
    run: async (stand) => {
      const { door } = stand.door({ tamper: unreachable });
      await failureOf(stand, 'nobody at the address', () => signIn(stand, door), ['unavailable']);
    },
  },
  {
    id: 'sign_in.strangers',
    promise: 'whatever else answers at the address lets nobody in and is no apiError of the credentials',
    run: async (stand) => {
      for (const [what, make] of Object.entries(useless)) {
        const { door } = stand.door({ tamper: answering(make) });
        await failureOf(stand, what, () => signIn(stand, door), ['unavailable', 'refused']);
      }
    },
  },
  {
    id: 'sign_in.good',
    promise:
      'right credentials open a session, and say who the person is and, where it is told, which clock the EMR goes by',
    run: async (stand) => {
      const { user, timezone, grant } = await stand.signIn();
      if (!user.ehr_id.trim() || !user.name.trim()) broken('the person has no id or no name');
      if (timezone !== undefined && !isZone(timezone)) broken('the time zone is not one of the IANA names');
      if (Object.values(grant).some((value) => typeof value !== 'string')) broken('the grant holds more than texts');
      const odd = JSON.stringify(grant).includes(JSON.stringify(stand.credentials).slice(1, -1));
      if (odd) broken('the grant repeats the credentials');
    },
  },
  {
    id: 'sign_in.code',
    promise: 'where the EMR asks for a one-time code, none asks for one and a wrong one is refused as such',
    run: async (stand) => {
      await stand.session();
      const without = await trySignIn(stand, stand.credentials);
      if (without.outcome === 'signed_in') notTried('this EMR asks for no one-time code');
      if (without.outcome !== 'code_required') broken(`without a code the sign-in ended as ${without.outcome}`);
      const answer = await trySignIn(stand, stand.credentials, '000000');
      if (answer.outcome !== 'refused' || answer.because !== 'code') broken('a wrong code was not refused as a code');
    },
  },
];

function trySignIn(stand: Stand, credentials: Credentials, code?: string): Promise<SignIn> {
  return stand.watch(stand.connector.signIn(stand.door().door, credentials, code));
}

function signIn(stand: Stand, door: Parameters<Stand['connector']['signIn']>[0]): Promise<SignIn> {
  return stand.connector.signIn(door, stand.credentials, '000000');
}

/** The first secret, wrong in one letter: some EMRs lock a person out after a few tries, so there is one. */
function wrong({ connector, credentials }: Stand): Credentials {
  const secret = connector.credential_fields.find(({ name, secret }) => secret && credentials[name]);
  if (!secret) return notTried('there is no secret to get wrong');
  const value = credentials[secret.name] ?? '';
  return { ...credentials, [secret.name]: `${value.slice(0, -1)}${value.endsWith('x') ? 'y' : 'x'}` };
}
