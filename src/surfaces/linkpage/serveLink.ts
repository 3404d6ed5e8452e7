import type { FastifyInstance, FastifyReply } from 'fastify';
import { parseUrl } from '../../catalog/parseUrl.ts';
import {
  type PagePolicy,
  type ShellPage,
  sendPage,
  serveBrand,
  servePageFiles,
  shellPage,
} from '../../http/pages/servePages.ts';
import { findClient } from '../../product/clients/clients.ts';
import type { Context } from '../../product/context.ts';
import { type KnownLink, type LinkState, lookUpLink, lookUpLinkByHash } from '../../product/link/linkTokens.ts';

/** Serves Link: the script for applications, the page it frames, and the same page hosted at `/link`. */
export function serveLink(ctx: Context, pages: FastifyInstance): void {
  serveBrand(pages, '/link/v1/');
  servePageFiles(pages, 'link', {
    prefix: '/link/v1/',
    only: ['link.js', 'page.js', 'practice.js', 'window.js', 'page.css'],
    cross_origin: ['link.js'],
    cacheControl: () => 'public, max-age=300',
  });
  pages.get<{ Params: { hash: string } }>('/link/v1/frame/:hash', async (request, reply) => {
    const { hash } = request.params;
    const link = /^[0-9a-f]{64}$/.test(hash) ? await lookUpLinkByHash(ctx, Buffer.from(hash, 'hex')) : undefined;
    return sendLinkPage(reply, link, {
      mode: 'frame',
      // A page that only says that the link does not exist may be framed by anyone.
      origins: link ? await listFramers(ctx, link) : ['*'],
      files: '../',
    });
  });
  pages.get<{ Querystring: { token?: unknown } }>('/link', async (request, reply) => {
    const { token } = request.query;
    const page = { mode: 'hosted', origins: [], files: 'link/v1/' } as const;
    if (token === undefined) return sendLinkPage(reply, 'in_fragment', page);
    return sendLinkPage(reply, typeof token === 'string' ? await lookUpLink(ctx, token) : undefined, page);
  });
  pages.get('/practice', async (_request, reply) => sendPage(reply, practicePage(), linkPolicy([])));
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

async function listFramers(ctx: Context, { purpose }: KnownLink): Promise<string[]> {
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

export type LinkPage = {
  mode: 'frame' | 'hosted';
  /** `in_fragment`: the server does not see the token, so the page asks for the link itself. */
  state: LinkState | 'unknown' | 'in_fragment';
  /** Origins that may exchange messages with a framed page. */
  origins: readonly string[];
  language: string | null;
  /** Relative URL of `/link/v1/`, so that the service may be served below a path. */
  files: string;
};

/** The Link page. It does not contain the link token; its script requests the rest with it. */
export function linkPage({ mode, state, origins, language, files }: LinkPage): string {
  return shellPage({
    ...shell,
    files,
    script: 'page.js',
    html: `lang="${language === 'es' ? 'es' : 'en'}" data-mode="${mode}"`,
    body: ` data-state="${state}" data-language="${language ?? ''}" data-origins="${escapeAttribute(JSON.stringify(origins))}"`,
  });
}

const shell: Pick<ShellPage, 'title' | 'style' | 'root' | 'without_script'> = {
  title: 'Link',
  style: 'page.css',
  root: '<main id="link"></main>',
  without_script: 'This page needs JavaScript. Esta página necesita JavaScript.',
};

/**
 * The window that goes to the EMR's sign-in page and returns from it. Its script reads the parameters in its URL. `files`
 * is the relative URL of `/link/v1/`.
 */
export function windowPage(files: string): string {
  return shellPage({
    ...shell,
    files,
    script: 'window.js',
    html: 'lang="en" data-mode="hosted"',
  });
}

/** The page on which a practice sees a linked account and can unlink it. What it opens with is in the fragment. */
export function practicePage(): string {
  return shellPage({
    ...shell,
    files: 'link/v1/',
    title: 'Connected application',
    script: 'practice.js',
    html: 'lang="en" data-mode="hosted"',
  });
}

/** Logos are data URLs. The origins that may frame the page are configured per client. */
export function linkPolicy(frame_ancestors: readonly string[]): PagePolicy {
  return {
    directives: {
      'img-src': ["'self'", 'data:'],
      'frame-ancestors': frame_ancestors.length > 0 ? [...frame_ancestors] : ["'none'"],
    },
  };
}

/**
 * Origins on this machine, which may frame Link in sandbox mode without being registered. Not [::1]: a policy cannot
 * name an IPv6 address, and browsers log an error.
 */
const loopback_origins = ['http://localhost:*', 'http://127.0.0.1:*'];

/** The origins that may frame a client's Link. Anything but a plain origin is left out, because it could end the directive. */
export function framingOrigins(registered: readonly string[], sandbox: boolean): string[] {
  const origins = registered.filter((origin) => parseUrl(origin)?.origin === origin);
  return sandbox ? [...origins, ...loopback_origins] : origins;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
