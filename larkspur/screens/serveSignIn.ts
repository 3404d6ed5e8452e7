import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../context.ts';
import { EmrError, failures } from '../errors.ts';
import { listLogins } from '../practice/staff.ts';
import { codeSecondsLeft, currentCode } from '../signin/oneTimeCode.ts';
import { endSession } from '../signin/sessions.ts';
import { signInWithCode, signInWithPassword } from '../signin/signIn.ts';
import { codesPage } from './codesPage.ts';
import type { Html } from './html.ts';
import { codePage, signInPage } from './signInPage.ts';
import {
  checkForm,
  clearSessionCookie,
  frameFor,
  sendPage,
  sessionCookie,
  setSessionCookie,
  visitorIfAny,
  visitorOf,
} from './visitor.ts';

type Form = { Body: Record<string, string> };

export function serveSignIn(app: FastifyInstance, context: Context): void {
  app.get('/', async (request, reply) => {
    if (sessionCookie(request) === undefined) return sendPage(reply, signInPage(await frameFor(context), ''));
    if (await visitorIfAny(context, request)) return reply.redirect('/patients', 303);
    clearSessionCookie(reply);
    return sendPage(reply, signInPage(await frameFor(context), '', 'Your session has ended. Please sign in again.'));
  });

  app.post<Form>('/sign-in', async ({ body }, reply) => {
    const { userName = '', password = '' } = body;
    try {
      const challengeId = await signInWithPassword(context, userName.slice(0, 200), password.slice(0, 200));
      return sendPage(reply, codePage(await frameFor(context), challengeId));
    } catch (error) {
      return tryAgain(reply, error, async (said) => signInPage(await frameFor(context), userName, said));
    }
  });

  app.post<Form>('/sign-in/code', async ({ body }, reply) => {
    const { challengeId = '', code = '' } = body;
    try {
      const { session_token } = await signInWithCode(context, { challengeId, code: code.trim(), remember: false });
      setSessionCookie(reply, session_token);
      return reply.redirect('/patients', 303);
    } catch (error) {
      const again = error instanceof EmrError && error.code === 'BAD_CODE';
      return tryAgain(reply, error, async (said) =>
        again ? codePage(await frameFor(context), challengeId, said) : signInPage(await frameFor(context), '', said),
      );
    }
  });

  app.post<Form>('/sign-out', async (request, reply) => {
    const visitor = await visitorOf(context, request);
    checkForm(visitor, request.body);
    await endSession(context.sql, visitor.session.tokenHash);
    clearSessionCookie(reply);
    return reply.redirect('/', 303);
  });

  app.get('/codes', async (request, reply) => {
    const who = await visitorIfAny(context, request);
    const now = context.now();
    const logins = await listLogins(context.sql);
    const rows = logins.map((login) => ({
      user_name: login.userName,
      name: login.displayName,
      role: login.role,
      code: currentCode(login.totpSecret, now),
    }));
    const seconds_left = codeSecondsLeft(now);
    // Loads again exactly when the codes shown are worth nothing any more.
    reply.header('refresh', String(seconds_left + 1));
    return sendPage(reply, codesPage(await frameFor(context, who), rows, seconds_left));
  });
}

/** The same form once more, with what went wrong said above it. Anything but a plain no goes to the error page. */
async function tryAgain(
  reply: FastifyReply,
  error: unknown,
  form: (said: string) => Promise<Html>,
): Promise<FastifyReply> {
  if (!(error instanceof EmrError)) throw error;
  const until = error.details.lockedUntil;
  const wait = typeof until === 'string' ? ` Try again after ${until.slice(11, 16)} UTC.` : '';
  return sendPage(reply, await form(error.message + wait), failures[error.code]);
}
