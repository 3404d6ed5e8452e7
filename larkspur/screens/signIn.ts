import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Context } from '../context.ts';
import { EmrError, errorStatuses } from '../errors.ts';
import { listLogins } from '../practice/staff.ts';
import { codeSecondsLeft, currentCode } from '../signin/credentials.ts';
import { endSession } from '../signin/sessions.ts';
import { signInWithCode, signInWithPassword } from '../signin/signIn.ts';
import { type Content, type Html, html, table } from './html.ts';
import { errorAlert, type Frame, page } from './page.ts';
import {
  checkFormToken,
  clearSessionCookie,
  findUser,
  frameFor,
  requireUser,
  sendPage,
  sessionCookie,
  setSessionCookie,
} from './user.ts';

type FormRequest = { Body: Record<string, string> };

export function serveSignIn(app: FastifyInstance, context: Context): void {
  app.get('/', async (request, reply) => {
    if (sessionCookie(request) === undefined) return sendPage(reply, signInPage(await frameFor(context), ''));
    if (await findUser(context, request)) return reply.redirect('/patients', 303);
    clearSessionCookie(reply);
    return sendPage(reply, signInPage(await frameFor(context), '', 'Your session has expired. Sign in again.'));
  });

  app.post<FormRequest>('/sign-in', async ({ body }, reply) => {
    const { userName = '', password = '' } = body;
    try {
      const challengeId = await signInWithPassword(context, userName.slice(0, 200), password.slice(0, 200));
      return sendPage(reply, codePage(await frameFor(context), challengeId));
    } catch (error) {
      return showFormAgain(reply, error, async (message) => signInPage(await frameFor(context), userName, message));
    }
  });

  app.post<FormRequest>('/sign-in/code', async ({ body }, reply) => {
    const { challengeId = '', code = '' } = body;
    try {
      const { session_token } = await signInWithCode(context, { challengeId, code: code.trim(), remember: false });
      setSessionCookie(reply, session_token);
      return reply.redirect('/patients', 303);
    } catch (error) {
      const canRetry = error instanceof EmrError && error.code === 'BAD_CODE';
      return showFormAgain(reply, error, async (message) => {
        const frame = await frameFor(context);
        return canRetry ? codePage(frame, challengeId, message) : signInPage(frame, '', message);
      });
    }
  });

  app.post<FormRequest>('/sign-out', async (request, reply) => {
    const user = await requireUser(context, request);
    checkFormToken(user, request.body);
    await endSession(context.sql, user.session.tokenHash);
    clearSessionCookie(reply);
    return reply.redirect('/', 303);
  });

  app.get('/codes', async (request, reply) => {
    const user = await findUser(context, request);
    const now = context.now();
    const logins = await listLogins(context.sql);
    const rows = logins.map((login) => [
      login.userName,
      login.displayName,
      login.role,
      html`<span class="code">${currentCode(login.totpSecret, now)}</span>`,
    ]);
    const seconds_left = codeSecondsLeft(now);
    // Reloads the page when the codes change.
    reply.header('refresh', String(seconds_left + 1));
    return sendPage(reply, codesPage(await frameFor(context, user), rows, seconds_left));
  });
}

/** Shows the form with an error message above it. Unexpected errors go to the error page. */
async function showFormAgain(
  reply: FastifyReply,
  error: unknown,
  form: (message: string) => Promise<Html>,
): Promise<FastifyReply> {
  if (!(error instanceof EmrError)) throw error;
  const until = error.details.lockedUntil;
  const wait = typeof until === 'string' ? ` Try again after ${until.slice(11, 16)} UTC.` : '';
  return sendPage(reply, await form(error.message + wait), errorStatuses[error.code]);
}

function signInPage(frame: Frame, userName: string, error?: string): Html {
  return page(
    frame,
    'Sign in',
    html`<section class="card narrow">
<h1>Sign in</h1>
${errorAlert(error)}
<form method="post" action="/sign-in">
<label for="userName">User name</label>
<input id="userName" name="userName" value="${userName}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="200" required>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="200" required>
<button>Continue</button>
</form>
</section>`,
  );
}

function codePage(frame: Frame, challengeId: string, error?: string): Html {
  return page(
    frame,
    'One-time code',
    html`<section class="card narrow">
<h1>One-time code</h1>
${errorAlert(error)}
<form method="post" action="/sign-in/code">
<input type="hidden" name="challengeId" value="${challengeId}">
<label for="code">Six-digit code</label>
<input id="code" name="code" class="code" inputmode="numeric" autocomplete="one-time-code" pattern="[0-9]{6}" maxlength="6" aria-describedby="code-hint" required>
<p id="code-hint" class="hint">From your authenticator app. In this sandbox, see <a href="/codes" target="_blank">One-time codes (opens in a new tab)</a>.</p>
<button>Sign in</button>
</form>
<p><a href="/">Start over</a></p>
</section>`,
  );
}

function codesPage(frame: Frame, rows: Content[][], seconds_left: number): Html {
  return page(
    frame,
    'One-time codes',
    html`<h1>One-time codes</h1>
<p>In a real practice, staff use an authenticator app. This sandbox shows everyone’s current code.
The codes change in <strong>${seconds_left} seconds</strong>; this page then reloads.</p>
<section class="card">
${table('One-time codes', ['User name', 'Name', 'Role', 'Code'], rows)}
</section>`,
  );
}
