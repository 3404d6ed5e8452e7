import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { answerTo, EmrError } from '../errors.ts';
import { html } from './html.ts';
import { page } from './page.ts';
import { serveCharts } from './serveCharts.ts';
import { serveClaims } from './serveClaims.ts';
import { serveSchedule } from './serveSchedule.ts';
import { serveSignIn } from './serveSignIn.ts';
import { logo, stylesheet } from './stylesheet.ts';
import { frameFor, sendPage } from './visitor.ts';

/** The screens that the people of the clinic use: plain pages and forms, no script at all. */
export async function serveScreens(app: FastifyInstance, context: Context): Promise<void> {
  await app.register(cookie);
  await app.register(formbody);

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    // No other site may sign somebody in here; the forms behind the sign-in carry a token as well.
    const from = request.headers['sec-fetch-site'] ?? 'same-origin';
    if (request.method === 'POST' && from !== 'same-origin') {
      throw new EmrError('BAD_REQUEST', 'This form came from another site.');
    }
  });

  app.setErrorHandler(async (error, _request, reply) => {
    if (error instanceof EmrError && error.code === 'SESSION_EXPIRED') return reply.redirect('/', 303);
    const { status } = answerTo(error, (reason) => context.log(`larkspur: a screen failed: ${reason}`));
    const title = status === 404 ? 'Not found' : status < 500 ? 'That did not work' : 'Larkspur could not answer';
    const said = error instanceof EmrError ? error.message : 'Please try again.';
    const content = html`<section class="card narrow"><h1>${title}</h1><p>${said}</p><p><a href="/">Back to the start</a></p></section>`;
    return sendPage(reply, page({ ...(await frameFor(context)), title }, content), status);
  });

  app.get('/larkspur.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(stylesheet));
  app.get('/larkspur.svg', async (_request, reply) => reply.type('image/svg+xml').send(logo));
  serveSignIn(app, context);
  serveCharts(app, context);
  serveSchedule(app, context);
  serveClaims(app, context);
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
