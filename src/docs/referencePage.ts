import { dereference } from '../openapi/dereference.ts';
import type { Document } from '../openapi/document.ts';
import { errorGuide, eventGuide, guides, startGuide } from './guide.ts';
import { breakable, type Html, html } from './html.ts';
import { type Call, method, operationSection } from './operationSection.ts';

type Group = { name: string; description: string; id: string; calls: Call[] };

/** Renders the OpenAPI document as a single page that is readable without JavaScript. */
export function referencePage(described: Document, sandbox: boolean): string {
  const document = dereference(described);
  const groups = groupsOf(document);
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Chartwire API reference</title><meta name="color-scheme" content="light dark">
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml"><link rel="stylesheet" href="/docs/style.css"><link rel="stylesheet" href="/docs/parts.css">
<script type="module" src="/docs/docs.js"></script></head>
<body${sandbox && html` data-sandbox`}><a class="skip" href="#main">Skip to the reference</a>
<header class="top"><h1><a class="brand" href="/docs">Chartwire</a> <span>API reference</span></h1>
<p><span class="version">Version ${document.info.version}</span> <a href="/openapi.json">OpenAPI 3.1</a></p></header>
<div class="frame">${contents(groups)}
<main id="main" tabindex="-1">
${startGuide(document)}${errorGuide(document)}
${groups.map(
  (group) => html`<section class="group" aria-labelledby="${group.id}"><h2 id="${group.id}">${group.name}</h2>
<p class="lead">${group.description}</p>${group.calls.map(operationSection)}</section>`,
)}
${eventGuide(document)}</main></div>
<dialog id="confirm" aria-labelledby="confirm.text"><p id="confirm.text"></p>
<p class="choices"><button type="button" value="">Cancel</button> <button type="button" value="send" class="send">Send</button></p></dialog>
</body></html>`;
  return page.text;
}

function groupsOf(document: Document): Group[] {
  const calls: Call[] = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  );
  return document.tags.map(({ name, description }) => ({
    name,
    description,
    id: `group.${name.toLowerCase().replaceAll(' ', '-')}`,
    calls: calls.filter(({ operation }) => operation.tags.includes(name)),
  }));
}

function contents(groups: Group[]): Html {
  const before = guides.filter((each) => each.id !== 'events' && each.id !== 'webhooks');
  const after = guides.filter((each) => each.id === 'events' || each.id === 'webhooks');
  const guide = ({ id, title }: (typeof guides)[number]) => html`<li><a href="#${id}">${title}</a></li>`;
  return html`<nav class="side" aria-label="Reference"><details open><summary>Contents</summary>
<div class="find" hidden><label for="find">Filter endpoints</label>
<input id="find" type="search" placeholder="Name, path or method" autocomplete="off" spellcheck="false">
<p id="find.state" role="status"></p></div>
<ul class="guides">${before.map(guide)}</ul>
${groups.map(
  ({ name, calls }) =>
    html`<div class="links"><h2>${name}</h2><ul>${calls.map(
      ({
        method: verb,
        path,
        operation,
      }) => html`<li data-find="${`${verb} ${path} ${operation.summary}`.toLowerCase()}"><a
 href="#${operation.operationId}">${method(verb)} <span class="path">${breakable(path.replace(/^\/v1/, ''))}</span></a></li>`,
    )}</ul></div>`,
)}
<ul class="guides">${after.map(guide)}</ul></details></nav>`;
}
