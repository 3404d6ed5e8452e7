import type { FastifyInstance, FastifyReply } from 'fastify';
import { findClient } from '../../product/clients/clients.ts';
import type { Context } from '../../product/context.ts';
import { sendPage, servePageFiles } from '../../http/pages/servePages.ts';
import { type KnownLink, lookUpLink, lookUpLinkByHash } from '../../product/link/linkTokens.ts';
import { framingOrigins, type LinkPage, linkPage, linkPolicy, windowPage } from './linkPage.ts';

/** Serves Link: the script for applications, the page it frames, and the same page hosted at `/link`. */
export function serveLink(ctx: Context, pages: FastifyInstance): void {
  servePageFiles(pages, 'link', {
    prefix: '/link/v1/',
    only: ['link.js', 'page.js', 'window.js', 'page.css'],
    cross_origin: ['link.js'],
    cacheControl: () => 'public, max-age=300',
  });
  pages.get<{ Params: { hash: string } }>('/link/v1/frame/:hash', async (request, reply) => {
    const { hash } = request.params;
    const link = /^[0-9a-f]{64}$/.test(hash) ? await lookUpLinkByHash(ctx, Buffer.from(hash, 'hex')) : undefined;
    return sendLinkPage(reply, link, {
      mode: 'frame',
      // A page that only says that the link does not exist may be framed by anyone.
      origins: link ? await framersOf(ctx, link) : ['*'],
      files: '../',
    });
  });
  pages.get<{ Querystring: { token?: unknown } }>('/link', async (request, reply) => {
    const { token } = request.query;
    const page = { mode: 'hosted', origins: [], files: 'link/v1/' } as const;
    if (token === undefined) return sendLinkPage(reply, 'in_fragment', page);
    return sendLinkPage(reply, typeof token === 'string' ? await lookUpLink(ctx, token) : undefined, page);
  });
  // The window before it goes to the EMR's sign-in page, and after it returns.
  // A sign-in takes place in these, and the address of the second contains its one-time code.
  const consumed = { exposeHeadRoute: false };
  pages.get('/link/v1/oauth/window', consumed, async (_request, reply) =>
    sendPage(reply, windowPage('../'), linkPolicy([])),
  );
  pages.get('/link/v1/oauth/callback/:id', consumed, async (_request, reply) =>
    sendPage(reply, windowPage('../../'), linkPolicy([])),
  );
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
  in_fragment: 200,
};

function sendLinkPage(
  reply: FastifyReply,
  link: KnownLink | 'in_fragment' | undefined,
  page: Omit<LinkPage, 'state' | 'language'>,
): Promise<FastifyReply> {
  const { state, language } =
    link === 'in_fragment'
      ? { state: link, language: null }
      : { state: link?.state ?? ('unknown' as const), language: link?.purpose.language ?? null };
  const html = linkPage({ ...page, state, language });
  return sendPage(reply.status(statuses[state]), html, linkPolicy(page.origins));
}
