import type { FastifyInstance } from 'fastify';
import { apiError } from '../errors.ts';
import { contentSecurityPolicy, isolated, readPageFiles, sendPage, servePageFile } from '../http/pages.ts';
import type { Document } from '../openapi/document.ts';
import { isOwnPage } from './isOwnPage.ts';
import { referencePage } from './referencePage.ts';

/** What the try-it forms are filled with in sandbox mode: credentials, and values that `found_in` of endpoints name. */
export type TryItValues = Record<'client_id' | 'client_secret' | 'access_token', string> & Record<string, unknown>;

/** `/docs`: the page, its files and, in sandbox mode, what its forms are filled with. */
export function serveDocs(
  server: FastifyInstance,
  document: Document,
  sandbox: (() => Promise<TryItValues | undefined>) | undefined,
): void {
  const page = referencePage(document, sandbox !== undefined);
  server.get('/docs', async (_request, reply) => sendPage(isolated(reply), page, contentSecurityPolicy()));
  for (const { name, content } of readPageFiles('docs')) servePageFile(server, `/docs/${name}`, content);
  if (!sandbox) return;
  server.get('/docs/sandbox.json', async (request, reply) => {
    const values = isOwnPage(request.socket.remoteAddress, request.headers) ? await sandbox() : undefined;
    if (!values) throw apiError('sandbox_values_refused');
    return isolated(reply).header('cache-control', 'no-store').header('x-content-type-options', 'nosniff').send(values);
  });
}
