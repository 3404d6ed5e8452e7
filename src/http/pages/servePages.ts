import { createHash } from 'node:crypto';
import { basename, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import helmet from '@fastify/helmet';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { pages_folder } from '../../catalog/installation.ts';
import { chooseEncoding, type Encoding } from '../conditional.ts';

/**
 * Adds pages in a scope of their own, so that API requests do not run helmet's hooks. Pages are sent with `sendPage`;
 * their files are served with `servePageFiles`.
 */
export function servePages(server: FastifyInstance, add: (pages: FastifyInstance) => void): void {
  server.register(async (pages) => {
    await pages.register(helmet, { ...no_headers, global: false });
    add(pages);
  });
}

/** A page loads scripts, styles, images, fonts and data from its own origin only. Inline scripts do not run. */
const directives = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
  'require-trusted-types-for': ["'script'"],
};

export type PagePolicy = {
  /** Directives that differ from the default policy; null removes one. */
  directives?: Partial<Record<keyof typeof directives, string[] | null>>;
  /** No other site's page may open this one and keep a reference to it. Not for pages that other sites embed. */
  isolated?: boolean;
};

/** Sends an HTML page with its Content-Security-Policy. Pages are never cached. */
export async function sendPage(reply: FastifyReply, html: string, policy: PagePolicy): Promise<FastifyReply> {
  await protectPage(reply, policy);
  return reply.header('cache-control', 'no-store').type('text/html; charset=utf-8').send(html);
}

/** Sends a page that is the same for everyone, and contains no data of the installation. Browsers revalidate it. */
export async function sendPublicPage(
  reply: FastifyReply,
  html: PreparedText,
  policy: PagePolicy,
): Promise<FastifyReply> {
  await protectPage(reply, policy);
  reply.header('cache-control', reply.statusCode === 200 ? 'no-cache' : 'no-store');
  return sendPrepared(reply.type('text/html; charset=utf-8'), html);
}

/** Sends JSON to one of our own pages only: no other site's page can read it. */
export async function sendPageData(reply: FastifyReply, data: unknown): Promise<FastifyReply> {
  await reply.helmet(isolation_headers);
  return reply.header('cache-control', 'no-store').send(data);
}

/** Sends a public text that is not a page: Markdown, a search index. */
export async function sendPublicText(reply: FastifyReply, text: PreparedText, type: string): Promise<FastifyReply> {
  await reply.helmet(page_headers);
  return sendPrepared(reply.header('cache-control', 'no-cache').type(`${type}; charset=utf-8`), text);
}

type FileOptions = {
  /** The URL path that the files are served under. */
  prefix: string;
  /** If set, only these files are served. */
  only?: readonly string[];
  /** Files that pages of any origin may load. */
  cross_origin?: readonly string[];
  /** The names of files that are served. Default: scripts, styles and SVG images. */
  names?: RegExp;
  cacheControl: (path: string) => string;
};

/**
 * Serves the built files of a page, `dist/web/<folder>/`, with the compressed files that the build writes next to
 * them. If the folder does not exist, the service still starts, and the files are not found.
 */
export function servePageFiles(pages: FastifyInstance, folder: string, options: FileOptions): void {
  serveFiles(pages, join(pages_folder, folder), options);
}

/** Serves the mark and the font of all pages below a page's own prefix, so that proxies need no further path. */
export function serveBrand(pages: FastifyInstance, prefix: string): void {
  servePageFiles(pages, 'brand', {
    prefix: `${prefix}brand/`,
    names: /\.(css|svg|woff2)$/,
    cacheControl: () => 'public, max-age=86400',
  });
}

/** The elements of a page's head that load the mark as its icon, and the font. `files`: the URL of the page's files. */
export function brandElements(files: string): string {
  return `<link rel="icon" href="${files}brand/icon.svg" type="image/svg+xml">
<link rel="preload" href="${files}brand/inter-latin.woff2" as="font" type="font/woff2" crossorigin>
<link rel="stylesheet" href="${files}brand/brand.css">`;
}

export function serveFiles(pages: FastifyInstance, root: string, options: FileOptions): void {
  const { prefix, only, cross_origin = [], names = /\.(css|js|svg)$/, cacheControl } = options;
  pages.register(async (files) => {
    // The library sends application/javascript, which is obsolete (RFC 9239).
    files.addHook('onSend', async (_request, reply) => {
      if (reply.getHeader('content-type') === 'application/javascript; charset=utf-8') {
        reply.type('text/javascript; charset=utf-8');
      }
    });
    await files.register(fastifyStatic, {
      root,
      prefix,
      preCompressed: true,
      allowedPath: (path) => names.test(path) && (only?.includes(path.slice(1)) ?? true),
      setHeaders: (response, path) => {
        const name = basename(path).replace(/\.(br|gz)$/, '');
        response.setHeader('cache-control', cacheControl(relative(root, path)));
        response.setHeader(
          'cross-origin-resource-policy',
          cross_origin.includes(name) ? 'cross-origin' : 'same-origin',
        );
        response.setHeader('referrer-policy', 'no-referrer');
        response.setHeader('vary', 'accept-encoding');
      },
      decorateReply: false,
      index: false,
      cacheControl: false,
      acceptRanges: false,
      lastModified: false,
    });
  });
}

async function protectPage(reply: FastifyReply, policy: PagePolicy): Promise<void> {
  reply.header('permissions-policy', permissions_policy);
  await reply.helmet({
    ...page_headers,
    ...(policy.isolated ? isolation_headers : {}),
    contentSecurityPolicy: { useDefaults: false, directives: { ...directives, ...policy.directives } },
  });
}

/** Helmet sends 13 headers by default. We name those we want; the server sends HSTS and nosniff with every response. */
const no_headers = {
  contentSecurityPolicy: false,
  crossOriginEmbedderPolicy: false,
  crossOriginOpenerPolicy: false,
  crossOriginResourcePolicy: false,
  originAgentCluster: false,
  referrerPolicy: false,
  strictTransportSecurity: false,
  xContentTypeOptions: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xPoweredBy: false,
  xXssProtection: false,
} as const;

const page_headers = { referrerPolicy: { policy: 'no-referrer' } } as const;

/** What no page of ours uses. Helmet does not send this header. */
const permissions_policy = 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()';

const isolation_headers = {
  crossOriginOpenerPolicy: { policy: 'same-origin' },
  crossOriginResourcePolicy: { policy: 'same-origin' },
} as const;

/** A text that is compressed once and then sent many times, with an ETag for each of its encodings. */
export type PreparedText = { hash: string; bodies: Record<Encoding, Buffer> };

export async function prepareText(text: string): Promise<PreparedText> {
  const identity = Buffer.from(text);
  const [br, gzipped] = await Promise.all([
    // Quality 11 takes ten times as long and saves another 5 %.
    promisify(brotliCompress)(identity, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
    promisify(gzip)(identity, { level: 9 }),
  ]);
  const hash = createHash('sha256').update(identity).digest('base64url').slice(0, 22);
  return { hash, bodies: { br, gzip: gzipped, identity } };
}

/** Sends the encoding that the browser prefers, or 304 if it has the text already. */
export function sendPrepared(reply: FastifyReply, { hash, bodies }: PreparedText): FastifyReply {
  const { headers } = reply.request;
  const encoding = chooseEncoding(headers['accept-encoding']);
  const etag = `"${hash}-${encoding}"`;
  reply.headers({ etag, vary: 'accept-encoding' });
  // A proxy that compresses by itself makes the ETag weak.
  const etags = (headers['if-none-match'] ?? '').split(',').map((each) => each.trim().replace(/^W\//, ''));
  if (reply.statusCode === 200 && etags.includes(etag)) return reply.status(304).send();
  if (encoding !== 'identity') reply.header('content-encoding', encoding);
  return reply.send(bodies[encoding]);
}

export type ShellPage = {
  title: string;
  /** The URL of the page's files, with which those of the brand are served. */
  files: string;
  /** Names of its files. */
  style: string;
  script: string;
  /** Additional head elements and attributes. They are inserted as they are and must be safe HTML. */
  head?: string;
  html?: string;
  body?: string;
  root: string;
  /** Shown in a browser without JavaScript. */
  without_script: string;
};

/** An HTML page without content; its script renders everything. */
export function shellPage({
  title,
  files,
  style,
  script,
  head = '',
  html = 'lang="en"',
  body = '',
  root,
  without_script,
}: ShellPage): string {
  return `<!doctype html>
<html ${html}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
${head}<title>${title}</title>
${brandElements(files)}
<link rel="stylesheet" href="${files}${style}">
<script type="module" src="${files}${script}"></script>
</head>
<body${body}>
${root}
<noscript><p>${without_script}</p></noscript>
</body>
</html>
`;
}
