import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendPage, serveBrand, servePageFiles, shellPage } from '../../http/pages/servePages.ts';
import type { Context } from '../../product/context.ts';
import { finishSignIn } from './sign-in/endpoints.ts';

const files = '/dashboard/files/';

/** Serves the dashboard at `/dashboard` and every path below it, because the page does its own routing. */
export function serveDashboard(ctx: Context, pages: FastifyInstance): void {
  serveBrand(pages, files);
  servePageFiles(pages, 'dashboard', {
    prefix: files,
    // The names of chunks contain a hash of their content.
    cacheControl: (path) => (path.startsWith('chunks/') ? 'public, max-age=31536000, immutable' : 'no-cache'),
  });
  pages.get('/dashboard', sendDashboard);
  pages.get('/dashboard/*', sendDashboard);
  pages.get('/dashboard/sign-in/callback', { exposeHeadRoute: false }, (request, reply) =>
    finishSignIn(ctx, request, reply),
  );
  const not_found = { config: { not_found: true } } as const;
  // Otherwise the page below every path would answer.
  pages.head('/dashboard/sign-in/callback', not_found, (_request, reply) => reply.callNotFound());
  for (const path of ['/dashboard/api', '/dashboard/api/*', '/dashboard/files']) {
    pages.get(path, not_found, (_request, reply) => reply.callNotFound());
  }
}

/**
 * Mantine writes style elements at run time. The nonce allows them, but trusted types would not, so that directive is
 * removed. Scripts are still limited to our own files.
 */
async function sendDashboard(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const nonce = randomBytes(16).toString('base64');
  return sendPage(reply, dashboardPage(nonce), {
    isolated: true,
    directives: {
      'style-src': ["'self'", `'nonce-${nonce}'`],
      'img-src': ["'self'", 'data:'],
      'require-trusted-types-for': null,
    },
  });
}

function dashboardPage(nonce: string): string {
  return shellPage({
    title: 'Chartwire',
    files,
    style: 'main.css',
    script: 'main.js',
    head: `<meta name="style-nonce" content="${nonce}">\n`,
    root: '<div id="root"></div>',
    without_script: 'The dashboard needs JavaScript.',
  });
}
