import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint } from '../api/endpoint.ts';
import { findClient } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import { type KnownLink, lookUpLink, lookUpLinkByHash } from '../link/linkTokens.ts';
import { type LinkPage, linkPage } from './linkPage.ts';
import pageCreate from './pageSignIn.create.ts';
import pageFinish from './pageSignIn.finish.ts';
import pageGet from './pageSignIn.get.ts';
import { contentSecurityPolicy, framingOrigins } from './policy.ts';
import session from './session.get.ts';
import signIn from './signIn.create.ts';
import { windowPage } from './windowPage.ts';

/** What the page asks for. Answered by the machine of all endpoints, but no part of the interface for applications. */
export const link_endpoints: readonly Endpoint[] = [session, signIn, pageCreate, pageFinish, pageGet];

/** The script for applications, and the page that it frames or that stands by itself. */
export function serveLink(ctx: Context, server: FastifyInstance): void {
  serveFile(server, 'link.js', 'text/javascript; charset=utf-8', 'cross-origin');
  serveFile(server, 'page.js', 'text/javascript; charset=utf-8', 'same-origin');
  serveFile(server, 'window.js', 'text/javascript; charset=utf-8', 'same-origin');
  serveFile(server, 'page.css', 'text/css; charset=utf-8', 'same-origin');
  server.get<{ Params: { hash: string } }>('/link/v1/frame/:hash', async (request, reply) => {
    const { hash } = request.params;
    const link = /^[0-9a-f]{64}$/.test(hash) ? await lookUpLinkByHash(ctx, Buffer.from(hash, 'hex')) : undefined;
    return sendPage(reply, link, {
      mode: 'frame',
      // A page that only says that there is no such link has nothing to hide from whoever frames it.
      origins: link ? await framersOf(ctx, link) : ['*'],
      files: '../',
    });
  });
  server.get<{ Querystring: { token?: unknown } }>('/link', async (request, reply) => {
    const { token } = request.query;
    const link = typeof token === 'string' ? await lookUpLink(ctx, token) : undefined;
    return sendPage(reply, link, { mode: 'hosted', origins: [], files: 'link/v1/' });
  });
  // The window that goes to the EMR's own page, and the same window when it comes back.
  for (const step of ['window', 'callback']) {
    server.get(`/link/v1/oauth/${step}`, async (_request, reply) => sendHtml(reply, 200, [], windowPage));
  }
}

async function framersOf(ctx: Context, { purpose }: KnownLink): Promise<string[]> {
  const client = await findClient(ctx, purpose.client_id);
  return framingOrigins(client?.frame_origins ?? [], ctx.config.sandbox);
}

const statuses: Record<LinkPage['state'], number> = {
  open: 200,
  used: 410,
  expired: 410,
  exhausted: 410,
  unknown: 404,
};

function sendPage(
  reply: FastifyReply,
  link: KnownLink | undefined,
  page: Omit<LinkPage, 'state' | 'language'>,
): FastifyReply {
  const state = link?.state ?? 'unknown';
  const html = linkPage({ ...page, state, language: link?.purpose.language ?? null });
  return sendHtml(reply, statuses[state], page.origins, html);
}

function sendHtml(reply: FastifyReply, status: number, framers: readonly string[], html: string): FastifyReply {
  return reply
    .status(status)
    .header('content-security-policy', contentSecurityPolicy(framers))
    .header('cache-control', 'no-store')
    .header('referrer-policy', 'no-referrer')
    .header('x-content-type-options', 'nosniff')
    .type('text/html; charset=utf-8')
    .send(html);
}

/** A file of web/link/, compressed once. */
function serveFile(server: FastifyInstance, name: string, type: string, who: 'same-origin' | 'cross-origin'): void {
  const content = readBuilt(name);
  // An empty script would fail silently in somebody's application; one that is missing is told as missing.
  if (!content) return;
  const compressed = gzipSync(content, { level: 9 });
  server.get(`/link/v1/${name}`, async (request, reply) => {
    const packed = takesGzip(request);
    if (packed) reply.header('content-encoding', 'gzip');
    return reply
      .header('cache-control', 'public, max-age=300')
      .header('vary', 'accept-encoding')
      .header('x-content-type-options', 'nosniff')
      .header('cross-origin-resource-policy', who)
      .type(type)
      .send(packed ? compressed : content);
  });
}

function takesGzip(request: FastifyRequest): boolean {
  return /\bgzip\b(?!;\s*q=0(\.0*)?\b)/.test(String(request.headers['accept-encoding'] ?? ''));
}

/** In the build the files lie beside us; a service that runs from its sources (in tests) takes them from the build. */
function readBuilt(name: string): Buffer | undefined {
  for (const folder of ['../../web/link/', '../../dist/web/link/']) {
    try {
      return readFileSync(new URL(folder + name, import.meta.url));
    } catch {
      // Not here.
    }
  }
  // A service without its pages still serves applications.
  return undefined;
}
