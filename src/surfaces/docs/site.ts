import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installation_folder } from '../../catalog/installation.ts';
import { dereference } from '../../http/openapi/dereference.ts';
import type { Document } from '../../http/openapi/document.ts';
import { html } from './html.ts';
import { layout, notFoundPage, type PageContent } from './layout.ts';
import { renderMarkdown, rewriteLinks, textSections } from './markdown.ts';
import { type DocPage, markdownPath, sections } from './navigation.ts';
import { overviewMarkdown } from './overview.ts';
import { resourceHeadings, resourceHtml, resourceMarkdown } from './resourcePage.ts';
import { type Resource, resourcesOf } from './resources.ts';

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
export function openSite(described: Document, sandbox: boolean): Site {
  const document = dereference(described);
  return {
    html: (page) => layout(contentOf(document, page), sandbox),
    notFound: () => notFoundPage(sandbox),
    markdown: (page) => markdownOf(document, page, 'markdown'),
    searchIndex: () =>
      sections.flatMap(({ title, pages }) => pages.flatMap((page) => entriesOf(document, page, title))),
    llmsText: () => llmsText(document),
  };
}

function contentOf(document: Document, page: DocPage): PageContent {
  const resources = resourcesOn(document, page);
  if (resources) {
    const main = resourceHtml(document, page, resources);
    return { page, main, headings: resourceHeadings(resources), wide: true };
  }
  const { html: text, headings } = renderMarkdown(markdownOf(document, page, 'pages'));
  return { page, main: html`<div class="prose">${text}</div>`, headings, wide: false };
}

function markdownOf(document: Document, page: DocPage, links: 'pages' | 'markdown'): string {
  const resources = resourcesOn(document, page);
  if (resources) return resourceMarkdown(page, resources);
  if (page.content === 'overview' || 'groups' in page.content) return overviewMarkdown(document);
  const { file } = page.content;
  return rewriteLinks(readFileSync(join(installation_folder, file), 'utf8'), file, links);
}

/** Undefined if the page does not list operations. */
function resourcesOn(document: Document, { content }: DocPage): Resource[] | undefined {
  return content !== 'overview' && 'groups' in content ? resourcesOf(document, content.groups) : undefined;
}

function entriesOf(document: Document, page: DocPage, section: string): SearchEntry[] {
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
  return textSections(markdownOf(document, page, 'pages')).map(({ id, title, text }) => ({
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
