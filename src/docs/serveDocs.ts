import { readdirSync, readFileSync } from 'node:fs';
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Document } from '../api/document.ts';
import { refusal } from '../errors.ts';
import { isOwnPage } from './isOwnPage.ts';
import { referencePage } from './referencePage.ts';

/** What the try-it forms are filled with in sandbox mode: credentials, and values that `found_in` of endpoints name. */
export type TryItValues = Record<'client_id' | 'client_secret' | 'access_token', string> & Record<string, unknown>;

/** The page runs its own files and calls its own origin; nothing else, and nothing written into the page itself. */
const content_security_policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};

/** `/docs`: the page, its files and, in sandbox mode, what its forms are filled with. */
export function serveDocs(
  server: FastifyInstance,
  document: Document,
  sandbox: (() => Promise<TryItValues | undefined>) | undefined,
): void {
  const page = referencePage(document, sandbox !== undefined);
  server.get('/docs', async (_request, reply) =>
    guarded(reply)
      .header('content-security-policy', content_security_policy)
      .type('text/html; charset=utf-8')
      .send(page),
  );
  for (const [name, content] of filesOfPage()) {
    const type = types[name.split('.').at(-1) ?? ''];
    if (type) server.get(`/docs/${name}`, async (_request, reply) => guarded(reply).type(type).send(content));
  }
  if (!sandbox) return;
  server.get('/docs/sandbox.json', async (request, reply) => {
    const values = isOwnPage(request.socket.remoteAddress, request.headers) ? await sandbox() : undefined;
    if (!values) throw refusal('sandbox_values_refused');
    return guarded(reply).header('cache-control', 'no-store').send(values);
  });
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header('cache-control', 'no-cache')
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin');
}

/**
 * The files of web/docs/, read once. They lie beside us in the build; a service that runs from its sources (in tests)
 * takes the style from the sources and the compiled scripts from the build.
 */
function filesOfPage(): Map<string, string> {
  const files = new Map<string, string>();
  for (const folder of ['../../dist/web/docs/', '../../web/docs/'].map((path) => new URL(path, import.meta.url))) {
    for (const name of listing(folder)) {
      if (/\.(js|css|svg)$/.test(name)) files.set(name, readFileSync(new URL(name, folder), 'utf8'));
    }
  }
  return files;
}

function listing(folder: URL): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
