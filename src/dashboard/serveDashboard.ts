import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { contentSecurityPolicy, isolated, readPageFiles, sendPage, servePageFile } from '../http/pages.ts';
import { dashboardPage } from './dashboardPage.ts';

/**
 * `/dashboard` and everything below it that is not a file or an answer of its interface: the page finds its place by
 * the address. Its components write style elements as they run, which the nonce lets through and which trusted types
 * would not; scripts stay its own files.
 */
export function serveDashboard(server: FastifyInstance): void {
  for (const { name, content } of readPageFiles('dashboard')) {
    // Chunks carry a hash of their content in their names.
    const cache = name.startsWith('chunks/') ? 'public, max-age=31536000, immutable' : 'no-cache';
    servePageFile(server, `/dashboard/files/${name}`, content, { cache });
  }
  for (const path of ['/dashboard', '/dashboard/*']) {
    server.get(path, async (request, reply) => {
      if (/^\/dashboard\/(api|files)(\/|$)/.test(request.url.split('?')[0] ?? '')) return reply.callNotFound();
      const nonce = randomBytes(16).toString('base64');
      const policy = contentSecurityPolicy({
        'style-src': `'self' 'nonce-${nonce}'`,
        'img-src': "'self' data:",
        'require-trusted-types-for': null,
      });
      return sendPage(isolated(reply), dashboardPage(nonce), policy);
    });
  }
}
