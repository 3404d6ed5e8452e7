import type { FastifyInstance } from 'fastify';
import { apiError } from '../errors.ts';
import { sendPage, sendPageData, servePageFiles } from '../http/pages/servePages.ts';
import type { Document } from '../openapi/document.ts';
import { isOwnPage } from './isOwnPage.ts';
import { referencePage } from './referencePage.ts';

/** Values for the "Try it" forms in sandbox mode: credentials, and the values that `found_in` of endpoints refers to. */
export type TryItValues = Record<'client_id' | 'client_secret' | 'access_token', string> & Record<string, unknown>;

/** Serves the API reference at `/docs`. */
export function serveDocs(
  pages: FastifyInstance,
  document: () => Document,
  tryItValues: (() => Promise<TryItValues | undefined>) | undefined,
): void {
  let page: string | undefined;
  pages.get('/docs', async (_request, reply) => {
    page ??= referencePage(document(), tryItValues !== undefined);
    return sendPage(reply, page, { isolated: true });
  });
  servePageFiles(pages, 'docs', { prefix: '/docs/', cacheControl: () => 'no-cache' });
  if (!tryItValues) return;
  pages.get('/docs/sandbox.json', async (request, reply) => {
    const values = isOwnPage(request.socket.remoteAddress, request.headers) ? await tryItValues() : undefined;
    if (!values) throw apiError('sandbox_values_refused');
    return sendPageData(reply, values);
  });
}
