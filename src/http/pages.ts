import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply } from 'fastify';

/** What a page may load and run: its own files, its own origin; nothing else, and nothing written into the page. */
const policy = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self'",
  'connect-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
};

/** The policy of a page. A directive is named where the page needs another one, and null where it cannot hold it. */
export function contentSecurityPolicy(other: Partial<Record<keyof typeof policy, string | null>> = {}): string {
  return Object.entries({ ...policy, ...other })
    .flatMap(([directive, sources]) => (sources === null ? [] : `${directive} ${sources}`))
    .join('; ');
}

/** Sends a page with its policy; no page is kept by anyone on the way. */
export function sendPage(reply: FastifyReply, page: string, security_policy: string): FastifyReply {
  return guarded(reply)
    .header('content-security-policy', security_policy)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(page);
}

/** For pages that nobody else's page has to do with: not in a frame, not as the opener of a window. */
export function isolated(reply: FastifyReply): FastifyReply {
  return reply
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin');
}

/** What every answer of a page's own routes carries. */
function guarded(reply: FastifyReply): FastifyReply {
  return reply.header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer');
}

export type PageFile = { name: string; content: Buffer };

/**
 * The files of a page, `web/<folder>/`, with their names below it. In the build they lie beside us; a service that runs
 * from its sources (in tests) takes what is compiled from the build and the rest from the sources.
 */
export function readPageFiles(folder: string): PageFile[] {
  const found = new Map<string, Buffer>();
  for (const place of [`../../dist/web/${folder}/`, `../../web/${folder}/`]) {
    const from = new URL(place, import.meta.url);
    for (const name of listing(from)) {
      if (typeOf(name)) found.set(name, readFileSync(new URL(name, from)));
    }
  }
  return [...found].map(([name, content]) => ({ name, content }));
}

/** Serves a file of a page, compressed once. `who` may use it, and for how long it may be kept. */
export function servePageFile(
  server: FastifyInstance,
  path: string,
  content: Buffer,
  { who = 'same-origin', cache = 'no-cache' }: { who?: 'same-origin' | 'cross-origin'; cache?: string } = {},
): void {
  const compressed = gzipSync(content, { level: 9 });
  const type = typeOf(path) ?? 'application/octet-stream';
  server.get(path, async (request, reply) => {
    const packed = /\bgzip\b(?!;\s*q=0(\.0*)?\b)/.test(String(request.headers['accept-encoding'] ?? ''));
    if (packed) reply.header('content-encoding', 'gzip');
    return guarded(reply)
      .header('cross-origin-resource-policy', who)
      .header('cache-control', cache)
      .header('vary', 'accept-encoding')
      .type(type)
      .send(packed ? compressed : content);
  });
}

const types: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml; charset=utf-8',
};

function typeOf(name: string): string | undefined {
  return types[name.split('.').at(-1) ?? ''];
}

function listing(folder: URL): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    // A service without its pages still serves applications.
    return [];
  }
}
