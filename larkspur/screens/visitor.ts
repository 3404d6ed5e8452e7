import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from '../context.ts';
import { EmrError } from '../errors.ts';
import { getPractice } from '../practice/practice.ts';
import { deriveSecret, sameToken } from '../secrets.ts';
import { openSession, SESSION_LIFE_MS, type Session } from '../signin/sessions.ts';
import { type Html, render } from './html.ts';
import type { Frame } from './page.ts';

/** A person at the screens: their session, and the token that proves a form was ours. */
export interface Visitor {
  session: Session;
  form_token: string;
}

export function sessionCookie(request: FastifyRequest): string | undefined {
  return request.cookies[COOKIE];
}

export function setSessionCookie(reply: FastifyReply, token: string): void {
  reply.setCookie(COOKIE, token, { path: '/', httpOnly: true, sameSite: 'strict', maxAge: SESSION_LIFE_MS / 1000 });
}

export function clearSessionCookie(reply: FastifyReply): void {
  reply.clearCookie(COOKIE, { path: '/' });
}

/** Whoever is signed in; anyone else is sent to the sign-in by the error handler. */
export async function visitorOf(context: Context, request: FastifyRequest): Promise<Visitor> {
  const token = sessionCookie(request) ?? '';
  const session = await openSession(context, token);
  return { session, form_token: deriveSecret(token, 'forms').toString('base64url') };
}

export async function visitorIfAny(context: Context, request: FastifyRequest): Promise<Visitor | undefined> {
  try {
    return await visitorOf(context, request);
  } catch (error) {
    if (error instanceof EmrError) return undefined;
    throw error;
  }
}

/** A second wall behind SameSite=Strict: a form of another site does not know this token. */
export function checkForm(visitor: Visitor, form: Record<string, string>): void {
  if (sameToken(form.formToken ?? '', visitor.form_token)) return;
  throw new EmrError('BAD_REQUEST', 'This form is out of date. Go back, load the page again and repeat.');
}

export async function frameFor({ sql }: Context, visitor?: Visitor): Promise<Omit<Frame, 'title'>> {
  const { practiceName } = await getPractice(sql);
  const user = visitor && { name: visitor.session.displayName, form_token: visitor.form_token };
  return { practice_name: practiceName, user };
}

export function sendPage(reply: FastifyReply, page: Html, status = 200): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(render(page));
}

const COOKIE = 'larkspur_session';
