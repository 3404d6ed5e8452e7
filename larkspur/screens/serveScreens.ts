import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import multipart from '@fastify/multipart';
import type { FastifyInstance } from 'fastify';
import type { Context } from '../context.ts';
import { EmrError, toErrorResponse } from '../errors.ts';
import { DOCUMENT_BYTES_MAX, serveAddDocument } from './addDocument.ts';
import { serveChart } from './chartPage.ts';
import { serveClaims } from './claims.ts';
import { serveContactDetails } from './contactDetails.ts';
import { serveEligibility } from './eligibility.ts';
import { html } from './html.ts';
import { serveMergeCharts } from './mergeCharts.ts';
import { serveOneTimeLinks } from './oneTimeLinks.ts';
import { page } from './page.ts';
import { servePatientList } from './patientList.ts';
import { serveReferrals } from './referrals.ts';
import { serveSchedule } from './schedule.ts';
import { serveSignIn } from './signIn.ts';
import { logo, stylesheet } from './stylesheet.ts';
import { frameFor, sendPage } from './user.ts';
import { serveVisit } from './visit.ts';

/** The practice's screens: server-rendered pages and forms without scripts. */
export async function serveScreens(app: FastifyInstance, context: Context): Promise<void> {
  await app.register(cookie);
  await app.register(formbody);
  await app.register(multipart, {
    throwFileSizeLimit: false,
    limits: { fileSize: DOCUMENT_BYTES_MAX, files: 1, fields: 10, fieldSize: 4_000 },
  });

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS);
    // Protects the sign-in form against cross-site requests. The other forms also have a token.
    const site = request.headers['sec-fetch-site'] ?? 'same-origin';
    if (request.method === 'POST' && site !== 'same-origin') {
      throw new EmrError('BAD_REQUEST', 'Cross-site form submissions are not allowed.');
    }
  });

  app.setErrorHandler(async (error, _request, reply) => {
    if (error instanceof EmrError && error.code === 'SESSION_EXPIRED') return reply.redirect('/', 303);
    const { status } = toErrorResponse(error, (name) => context.log(`larkspur: a screen failed: ${name}`));
    const title = status === 404 ? 'Not found' : status < 500 ? 'Invalid request' : 'Server error';
    const message = error instanceof EmrError ? error.message : 'Try again.';
    const content = html`<section class="card narrow"><h1>${title}</h1><p>${message}</p><p><a href="/">Home</a></p></section>`;
    return sendPage(reply, page(await frameFor(context), title, content), status);
  });

  app.get('/larkspur.css', async (_request, reply) => reply.type('text/css; charset=utf-8').send(stylesheet));
  app.get('/larkspur.svg', async (_request, reply) => reply.type('image/svg+xml').send(logo));
  serveSignIn(app, context);
  serveOneTimeLinks(app, context);
  servePatientList(app, context);
  serveChart(app, context);
  serveContactDetails(app, context);
  serveEligibility(app, context);
  serveMergeCharts(app, context);
  serveAddDocument(app, context);
  serveSchedule(app, context);
  serveVisit(app, context);
  serveClaims(app, context);
  serveReferrals(app, context);
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};
