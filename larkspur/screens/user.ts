import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { EmrError } from '../errors.ts';
import { getPractice } from '../practice/practice.ts';
import { deriveSecret, isSameToken } from '../signin/credentials.ts';
import { requireSession, SESSION_LIFETIME_MS, type Session } from '../signin/sessions.ts';
import { type Html, render } from './html.ts';
import type { Frame } from './page.ts';

/** The signed-in user of a screen. `form_token` protects forms against cross-site requests. */
export interface User {
  session: Session;
  form_token: string;
}

export function sessionCookie(request: FastifyRequest): string | undefined {
  return request.cookies[COOKIE];
}

export function setSessionCookie(reply: FastifyReply, token: string): void {
  reply.setCookie(COOKIE, token, { path: '/', httpOnly: true, sameSite: 'strict', maxAge: SESSION_LIFETIME_MS / 1000 });
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(COOKIE, { path: '/' });
}

/** Throws SESSION_EXPIRED if nobody is signed in; the error handler then redirects to the sign-in page. */
export async function requireUser(context: Context, request: FastifyRequest): Promise<User> {
  const token = sessionCookie(request) ?? '';
  const session = await requireSession(context, token);
  return { session, form_token: deriveSecret(token, 'forms').toString('base64url') };
}

export async function findUser(context: Context, request: FastifyRequest): Promise<User | undefined> {
  try {
    return await requireUser(context, request);
  } catch (error) {
    if (error instanceof EmrError) return undefined;
    throw error;
  }
}

/** Rejects forms of other sites, in addition to the cookie's SameSite=Strict. */
export function checkFormToken(user: User, form: Record<string, string>): void {
  if (isSameToken(form.formToken ?? '', user.form_token)) return;
  throw new EmrError('BAD_REQUEST', 'This form has expired. Go back, reload the page and try again.');
}

export async function frameFor({ sql }: Context, signedIn?: User): Promise<Frame> {
  const { practiceName } = await getPractice(sql);
  const user = signedIn && { name: signedIn.session.displayName, form_token: signedIn.form_token };
  return { practice_name: practiceName, user };
}

export function sendPage(reply: FastifyReply, page: Html, status = 200): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(render(page));
}

const COOKIE = 'larkspur_session';
