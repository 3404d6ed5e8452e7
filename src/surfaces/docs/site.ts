import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { apiError } from '../../catalog/errors.ts';
import { installation_folder } from '../../catalog/installation.ts';
import { dereference } from '../../http/openapi/describeSchema.ts';
import type { Document } from '../../http/openapi/document.ts';
import {
  type PreparedText,
  prepareText,
  sendPageData,
  sendPublicPage,
  sendPublicText,
  serveBrand,
  serveFiles,
  servePageFiles,
} from '../../http/pages/servePages.ts';
import { routeNotFound } from '../../http/sendError.ts';
import { html } from './html.ts';
import { isOwnPage, layout, notFoundPage, type PageContent } from './layout.ts';
import { renderMarkdown, rewriteLinks, textSections } from './markdown.ts';
import { type DocPage, pages as doc_pages, markdownPath, sections } from './navigation.ts';
import { homePage, overviewMarkdown, resourceHeadings, resourceHtml, resourceMarkdown } from './resourcePage.ts';
import { listResources, type Resource } from './tryIt.ts';

/** Values for the "Try it" forms in sandbox mode: credentials, and the values that `found_in` of endpoints refers to. */
export type TryItValues = Record<'client_id' | 'client_secret' | 'access_token', string> & Record<string, unknown>;

/** Serves the documentation at `/docs`, and the page at `/` that leads to it. */
export function serveDocs(
  pages: FastifyInstance,
  document: () => Document,
  tryItValues: (() => Promise<TryItValues | undefined>) | undefined,
): void {
  let created: Site | undefined;
  const site = () => {
    created ??= createSite(document(), tryItValues !== undefined);
    return created;
  };
  const cacheText = cacheTexts();
  const serve = (path: string, make: () => string, send: SendText) =>
    pages.get(path, async (_request, reply) => send(reply, await cacheText(path, make)));
  serve('/', homePage, sendAsPage);
  for (const page of doc_pages) {
    serve(page.path, () => site().html(page), sendAsPage);
    serve(markdownPath(page), () => site().markdown(page), sendAs('text/markdown'));
  }
  serve('/docs/search.json', () => JSON.stringify(site().searchIndex()), sendAs('application/json'));
  serve('/llms.txt', () => site().llmsText(), sendAs('text/plain'));
  for (const path of ['/docs/', '/docs/quickstart'])
    pages.get(path, async (_request, reply) => reply.redirect('/docs'));
  pages.get('/favicon.ico', async (_request, reply) => reply.redirect('/docs/brand/icon.svg'));
  pages.register(async (below) => serveBelow(below, () => cacheText('not found', () => site().notFound())), {
    prefix: '/docs',
  });
  if (!tryItValues) return;
  pages.get('/docs/sandbox.json', async (request, reply) => {
    const values = isOwnPage(request.socket.remoteAddress, request.headers) ? await tryItValues() : undefined;
    if (!values) throw apiError('sandbox_values_refused');
    return sendPageData(reply, values);
  });
}

/** Every text is rendered and compressed when it is first requested, and then cached. */
function cacheTexts(): (path: string, make: () => string) => Promise<PreparedText> {
  const texts = new Map<string, Promise<PreparedText>>();
  return (path, make) => {
    const text = texts.get(path) ?? prepareText(make());
    texts.set(path, text);
    return text;
  };
}

type SendText = (reply: FastifyReply, text: PreparedText) => Promise<FastifyReply>;

const sendAsPage: SendText = (reply, text) => sendPublicPage(reply, text, { isolated: true });

function sendAs(type: string): SendText {
  return (reply, text) => sendPublicText(reply, text, type);
}

/** Serves the files below `/docs`, and a page where there is none. */
function serveBelow(below: FastifyInstance, notFound: () => Promise<PreparedText>): void {
  // People follow links and type addresses. The error keeps its code for the logs; only the body is a page.
  below.setNotFoundHandler(async (request, reply) => {
    // A name with an extension is that of a file, which scripts and programs ask for.
    if (!['GET', 'HEAD'].includes(request.method) || /\.\w+$/.test(request.url.split('?')[0] ?? ''))
      throw routeNotFound(request);
    request.code = 'route_not_found';
    return sendAsPage(reply.status(404), await notFound());
  });
  serveFiles(below, join(installation_folder, 'docs/images'), {
    prefix: '/images/',
    names: /\.(webp|svg)$/,
    cacheControl: () => 'no-cache',
  });
  serveBrand(below, '/');
  servePageFiles(below, 'docs', {
    prefix: '/',
    only: ['docs.js', 'early.js', 'style.css', 'parts.css'],
    cacheControl: () => 'no-cache',
  });
}

/** The documentation as it is served: every page as HTML and as Markdown, the search index and llms.txt. */
export type Site = {
  html: (page: DocPage) => string;
  notFound: () => string;
  markdown: (page: DocPage) => string;
  searchIndex: () => SearchEntry[];
  llmsText: () => string;
};

/** A heading or an operation that the search finds. `text` is searched too, and the excerpt comes from it. */
export type SearchEntry = { title: string; page: string; section: string; url: string; text: string };

/** Derives the pages from the OpenAPI document of this installation and from files of the repository. */
export function createSite(described: Document, sandbox: boolean): Site {
  const document = dereference(described);
  return {
    html: (page) => layout(composeContent(document, page), sandbox),
    notFound: () => notFoundPage(sandbox),
    markdown: (page) => composeMarkdown(document, page, 'markdown'),
    searchIndex: () =>
      sections.flatMap(({ title, pages }) => pages.flatMap((page) => listEntries(document, page, title))),
    llmsText: () => llmsText(document),
  };
}

function composeContent(document: Document, page: DocPage): PageContent {
  const resources = resourcesOn(document, page);
  if (resources) {
    const main = resourceHtml(document, page, resources);
    return { page, main, headings: resourceHeadings(resources), wide: true };
  }
  const { html: text, headings } = renderMarkdown(composeMarkdown(document, page, 'pages'));
  return { page, main: html`<div class="prose">${text}</div>`, headings, wide: false };
}

function composeMarkdown(document: Document, page: DocPage, links: 'pages' | 'markdown'): string {
  const resources = resourcesOn(document, page);
  if (resources) return resourceMarkdown(page, resources);
  if (page.content === 'overview' || 'groups' in page.content) return overviewMarkdown(document);
  const { file } = page.content;
  const text = readFileSync(join(installation_folder, file), 'utf8');
  return rewriteLinks(text, file, links)
    .replaceAll('](http://localhost:4000/', '](/')
    .replace(example_urls, document.servers[0]?.url ?? '$&');
}

/** The base URLs of examples in guides and in generated pages. */
const example_urls = /http:\/\/localhost:4000|https:\/\/chartwire\.example\.com/g;

/** Undefined if the page does not list operations. */
function resourcesOn(document: Document, { content }: DocPage): Resource[] | undefined {
  return content !== 'overview' && 'groups' in content ? listResources(document, content.groups) : undefined;
}

function listEntries(document: Document, page: DocPage, section: string): SearchEntry[] {
  const resources = resourcesOn(document, page);
  const place = { page: page.title, section };
  if (resources) {
    const operations = resources.flatMap(({ calls }) => calls);
    return [
      { ...place, title: page.title, url: page.path, text: page.description },
      ...operations.map(({ method, path, operation }) => ({
        ...place,
        title: operation.summary,
        url: `${page.path}#${operation.operationId}`,
        text: [`${method.toUpperCase()} ${path}`, operation.operationId, operation.description ?? ''].join(' '),
      })),
    ];
  }
  return textSections(composeMarkdown(document, page, 'pages')).map(({ id, title, text }) => ({
    ...place,
    title: id === '' ? page.title : title,
    url: id === '' ? page.path : `${page.path}#${id}`,
    text,
  }));
}

/** See https://llmstxt.org: the pages as Markdown, for programs that read documentation. */
function llmsText(document: Document): string {
  const base_url = document.servers[0]?.url ?? '';
  const parts = sections.map(({ title, pages }) => {
    const lines = pages.map((page) => `- [${page.title}](${base_url}${markdownPath(page)}): ${page.description}`);
    return `## ${title}\n\n${lines.join('\n')}`;
  });
  return `# ${document.info.title}\n\n> ${document.info.description} Self-hosted. Writes are durable jobs that report their outcome by signed webhook.\n\nThe API is also described as OpenAPI 3.1: ${base_url}/openapi.json\n\n${parts.join('\n\n')}\n`;
}
