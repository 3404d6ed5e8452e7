import { html } from './html.ts';
import { document, mark } from './layout.ts';

const links = [
  ['/docs', 'Documentation', 'Quickstart, concepts and guides'],
  ['/docs/reference', 'API reference', 'Every operation, with code samples and a form to try it'],
  ['/dashboard', 'Dashboard', 'Jobs, events, accounts and settings, for operators'],
  ['/openapi.json', 'OpenAPI', 'Machine-readable description of the API'],
  ['/readyz', 'Health', 'Whether this process and its database are ready'],
] as const;

/** The page at `/`. It is the same for everyone, and reveals nothing about the installation. */
export function homePage(): string {
  return document({
    title: 'Chartwire',
    description: 'One HTTP API for the electronic medical records of clinics.',
    sandbox: false,
    body: html`<main id="main" class="home"><h1>${mark}Chartwire</h1>
<p class="lead">One HTTP API for the electronic medical records of clinics.</p>
<ul>${links.map(
      ([href, title, text]) => html`<li><a href="${href}">${title}</a> <span>${text}</span></li>`,
    )}</ul></main>`,
  });
}
