import { join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import { installation_folder } from '../../catalog/installation.ts';
import { type PreparedText, prepareText } from '../../http/pages/preparedText.ts';
import { sendPageData, sendPublicPage, sendPublicText, serveFiles, servePageFiles } from '../../http/pages/servePages.ts';
import { routeNotFound } from '../../http/sendError.ts';
import type { Document } from '../../http/openapi/document.ts';
import { homePage } from './homePage.ts';
import { isOwnPage } from './isOwnPage.ts';
import { pages as doc_pages, markdownPath } from './navigation.ts';
import { openSite, type Site } from './site.ts';

/** Values for the "Try it" forms in sandbox mode: credentials, and the values that `found_in` of endpoints refers to. */
export type TryItValues = Record<'client_id' | 'client_secret' | 'access_token', string> & Record<string, unknown>;

/** Serves the documentation at `/docs`, and the page at `/` that leads to it. */
export function serveDocs(
  pages: FastifyInstance,
  document: () => Document,
  tryItValues: (() => Promise<TryItValues | undefined>) | undefined,
): void {
  let opened: Site | undefined;
  const site = () => {
    opened ??= openSite(document(), tryItValues !== undefined);
    return opened;
  };
  // Every text is rendered and compressed when it is first requested, and then cached.
  const texts = new Map<string, Promise<PreparedText>>();
  const textOf = (path: string, make: () => string) => {
    const text = texts.get(path) ?? prepareText(make());
    texts.set(path, text);
    return text;
  };
  const serve = (
    path: string,
    make: () => string,
    send: (reply: FastifyReply, text: PreparedText) => Promise<FastifyReply>,
  ) => pages.get(path, async (_request, reply) => send(reply, await textOf(path, make)));
  const asPage = (reply: FastifyReply, text: PreparedText) => sendPublicPage(reply, text, { isolated: true });
  const as = (type: string) => (reply: FastifyReply, text: PreparedText) => sendPublicText(reply, text, type);
  serve('/', homePage, asPage);
  for (const page of doc_pages) {
    serve(page.path, () => site().html(page), asPage);
    serve(markdownPath(page), () => site().markdown(page), as('text/markdown'));
  }
  serve('/docs/search.json', () => JSON.stringify(site().searchIndex()), as('application/json'));
  serve('/llms.txt', () => site().llmsText(), as('text/plain'));
  for (const path of ['/docs/', '/docs/quickstart'])
    pages.get(path, async (_request, reply) => reply.redirect('/docs'));
  pages.get('/favicon.ico', async (_request, reply) => reply.redirect('/docs/icon.svg'));
  pages.register(
    async (below) => {
      // People follow links and type addresses. The error keeps its code for the logs; only the body is a page.
      below.setNotFoundHandler(async (request, reply) => {
        // A name with an extension is that of a file, which scripts and programs ask for.
        if (!['GET', 'HEAD'].includes(request.method) || /\.\w+$/.test(request.url.split('?')[0] ?? ''))
          throw routeNotFound(request);
        request.code = 'route_not_found';
        return asPage(reply.status(404), await textOf('not found', () => site().notFound()));
      });
      serveFiles(below, join(installation_folder, 'docs/images'), {
        prefix: '/images/',
        names: /\.webp$/,
        cacheControl: () => 'no-cache',
      });
      servePageFiles(below, 'docs', {
        prefix: '/',
        only: ['docs.js', 'early.js', 'style.css', 'parts.css', 'icon.svg'],
        cacheControl: () => 'no-cache',
      });
    },
    { prefix: '/docs' },
  );
  if (!tryItValues) return;
  pages.get('/docs/sandbox.json', async (request, reply) => {
    const values = isOwnPage(request.socket.remoteAddress, request.headers) ? await tryItValues() : undefined;
    if (!values) throw apiError('sandbox_values_refused');
    return sendPageData(reply, values);
  });
}
