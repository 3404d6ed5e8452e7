import type { IncomingHttpHeaders } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { brandElements } from '../../http/pages/servePages.ts';
import { Html, html } from './html.ts';
import type { Heading } from './markdown.ts';
import { type DocPage, markdownPath, pages, sections } from './navigation.ts';

export type PageContent = {
  page: DocPage;
  main: Html;
  /** Shown next to the text, and in the reference below the page's name in the sidebar. */
  headings: readonly Heading[];
  wide: boolean;
};

/** A page of the site: bar, sidebar, content, table of contents. It is readable without scripts. */
export function layout({ page, main, headings, wide }: PageContent, sandbox: boolean): string {
  return document({
    title: `${page.title} · Chartwire`,
    description: page.description,
    sandbox,
    alternate: markdownPath(page),
    body: html`${bar(page)}
<div class="frame${wide && ' wide'}">${sidebar(page, wide ? headings : [])}
<main id="main" tabindex="-1">${main}${neighbors(page)}
<p class="source"><a href="${markdownPath(page)}">This page as Markdown</a></p></main>
${!wide && contents(headings)}</div>`,
  });
}

/** The page for an unknown path below `/docs`. It does not repeat the path, which could be anything. */
export function notFoundPage(sandbox: boolean): string {
  return document({
    title: 'Page not found · Chartwire',
    description: 'There is no page with this address.',
    sandbox,
    body: html`${bar()}
<div class="frame">${sidebar()}
<main id="main" tabindex="-1"><div class="prose"><h1>Page not found</h1>
<p>There is no page with this address. It may have moved: search for it, or start from one of these pages.</p>
${sections.map(
  ({ title, pages }) =>
    html`<h2>${title}</h2><ul>${pages.map(
      (page) => html`<li><a href="${page.path}">${page.title}</a>: ${page.description}</li>`,
    )}</ul>`,
)}</div></main></div>`,
  });
}

/** The frame of every page. */
export function document({
  title,
  description,
  sandbox,
  alternate,
  body,
}: {
  title: string;
  description: string;
  sandbox: boolean;
  alternate?: string;
  body: Html;
}): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title><meta name="description" content="${description}"><meta name="color-scheme" content="light dark">
${brand}<link rel="stylesheet" href="/docs/style.css"><link rel="stylesheet" href="/docs/parts.css">
${alternate && html`<link rel="alternate" type="text/markdown" href="${alternate}">`}
<script src="/docs/early.js"></script><script type="module" src="/docs/docs.js"></script></head>
<body${sandbox && html` data-sandbox`}>${body}</body></html>`.text;
}

const brand = new Html(brandElements('/docs/'));

function bar(page?: DocPage): Html {
  return html`<a class="skip" href="#main">Skip to content</a>
<header class="top"><button type="button" class="menu" aria-expanded="false" aria-controls="side" hidden>Menu</button>
<a class="brand" href="/">${mark}Chartwire</a>
<div class="search" role="search" hidden><input id="search" type="search" placeholder="Search" autocomplete="off" spellcheck="false"
 role="combobox" aria-label="Search the documentation" aria-expanded="false" aria-controls="results" aria-autocomplete="list">
<kbd aria-hidden="true">/</kbd><div id="results" class="results" role="listbox" aria-label="Results" hidden></div>
<p class="found" role="status"></p></div>
<nav class="places" aria-label="Site"><a href="/docs"${page && !isReference(page) && current}>Docs</a> <a href="/docs/reference"${page && isReference(page) && current}>API reference</a>
<a href="/dashboard">Dashboard</a></nav>
<button type="button" class="theme" hidden></button></header>`;
}

const current = html` aria-current="page"`;

export const mark = html`<img src="/docs/brand/icon.svg" alt="" width="24" height="24">`;

function isReference({ path }: DocPage): boolean {
  return path.startsWith('/docs/reference') && path !== '/docs/reference/settings';
}

function sidebar(page?: DocPage, headings: readonly Heading[] = []): Html {
  return html`<nav class="side" id="side" aria-label="Documentation">${sections.map(
    ({ title, pages }) =>
      html`<h2>${title}</h2><ul>${pages.map(
        (each) =>
          html`<li><a href="${each.path}"${each === page && current}>${each.title}</a>${
            each === page && headings.length > 0 && html`<ul class="spy">${headings.map(entry)}</ul>`
          }</li>`,
      )}</ul>`,
  )}</nav>`;
}

function contents(headings: readonly Heading[]): Html | false {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3);
  if (shown.length < 2) return false;
  return html`<nav class="toc" aria-labelledby="toc.title"><h2 id="toc.title">On this page</h2>
<ul class="spy">${shown.map(entry)}</ul></nav>`;
}

function entry({ id, title, depth }: Heading): Html {
  return html`<li${depth === 3 && html` class="inner"`}><a href="#${id}">${title}</a></li>`;
}

function neighbors(page: DocPage): Html {
  const index = pages.indexOf(page);
  const [before, after] = [pages[index - 1], pages[index + 1]];
  return html`<nav class="neighbors" aria-label="Previous and next page">${
    before && html`<a class="before" href="${before.path}"><span>Previous</span> ${before.title}</a>`
  }${after && html`<a class="after" href="${after.path}"><span>Next</span> ${after.title}</a>`}</nav>`;
}

const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Whether a request comes from our own page in a browser on this machine. Only then are the sandbox's credentials sent:
 * - not over a network: the peer is this machine and no proxy forwards for another one;
 * - not to a foreign name that resolves to this machine (DNS rebinding): Host is a loopback name;
 * - not to another site's script or a server: only browsers send Sec-Fetch-Site, and scripts cannot set it.
 */
export function isOwnPage(peer: string | undefined, headers: IncomingHttpHeaders): boolean {
  if (peer === undefined || !isLoopback(peer.replace(/^::ffff:/, ''))) return false;
  if (['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'].some((name) => name in headers))
    return false;
  const host = headers.host ?? '';
  if (!isLoopbackName(host)) return false;
  if (headers.origin !== undefined && headers.origin !== `http://${host}`) return false;
  return headers['sec-fetch-site'] === 'same-origin';
}

function isLoopbackName(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return name.toLowerCase() === 'localhost' || isLoopback(name);
}

function isLoopback(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && loopback.check(address, version === 4 ? 'ipv4' : 'ipv6');
}
