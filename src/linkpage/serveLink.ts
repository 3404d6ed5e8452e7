import type { FastifyInstance, FastifyReply } from 'fastify';
import { findClient } from '../clients/clients.ts';
import type { Context } from '../context.ts';
import type { Endpoint } from '../http/endpoint.ts';
import { readPageFiles, sendPage, servePageFile } from '../http/pages.ts';
import { type KnownLink, lookUpLink, lookUpLinkByHash } from '../link/linkTokens.ts';
import { type LinkPage, linkPage } from './linkPage.ts';
import pageCreate from './pageSignIn.create.ts';
import pageFinish from './pageSignIn.finish.ts';
import pageGet from './pageSignIn.get.ts';
import { framingOrigins, linkPolicy } from './policy.ts';
import session from './session.get.ts';
import signIn from './signIn.create.ts';
import { windowPage } from './windowPage.ts';

/** What the page asks for. Answered by the machine of all endpoints, but no part of the interface for applications. */
export const link_endpoints: readonly Endpoint[] = [session, signIn, pageCreate, pageFinish, pageGet];

/** Applications load the script from their own pages; the rest is the page's own. */
const served: Record<string, 'same-origin' | 'cross-origin'> = {
  'link.js': 'cross-origin',
  'page.js': 'same-origin',
  'window.js': 'same-origin',
  'page.css': 'same-origin',
};
const cache = 'public, max-age=300';

/** The script for applications, and the page that it frames or that stands by itself. */
export function serveLink(ctx: Context, server: FastifyInstance): void {
  // A file that was not built is not served: an empty script would fail silently in somebody's application.
  for (const { name, content } of readPageFiles('link').filter((file) => file.name in served)) {
    servePageFile(server, `/link/v1/${name}`, content, { who: served[name] ?? 'same-origin', cache });
  }
  server.get<{ Params: { hash: string } }>('/link/v1/frame/:hash', async (request, reply) => {
    const { hash } = request.params;
    const link = /^[0-9a-f]{64}$/.test(hash) ? await lookUpLinkByHash(ctx, Buffer.from(hash, 'hex')) : undefined;
    return show(reply, link, {
      mode: 'frame',
      // A page that only says that there is no such link has nothing to hide from whoever frames it.
      origins: link ? await framersOf(ctx, link) : ['*'],
      files: '../',
    });
  });
  server.get<{ Querystring: { token?: unknown } }>('/link', async (request, reply) => {
    const { token } = request.query;
    const link = typeof token === 'string' ? await lookUpLink(ctx, token) : undefined;
    return show(reply, link, { mode: 'hosted', origins: [], files: 'link/v1/' });
  });
  // The window that goes to the EMR's own page, and the same window when it comes back.
  for (const step of ['window', 'callback']) {
    server.get(`/link/v1/oauth/${step}`, async (_request, reply) => sendPage(reply, windowPage, linkPolicy([])));
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

function show(
  reply: FastifyReply,
  link: KnownLink | undefined,
  page: Omit<LinkPage, 'state' | 'language'>,
): FastifyReply {
  const state = link?.state ?? 'unknown';
  const drawn = linkPage({ ...page, state, language: link?.purpose.language ?? null });
  return sendPage(reply.status(statuses[state]), drawn, linkPolicy(page.origins));
}
