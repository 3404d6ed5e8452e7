import { readdirSync } from 'node:fs';
import { request } from 'node:http';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sign_in_ways } from '../../src/emr/fhir/sign-in/signInWays.ts';
import { groups } from '../../src/model/groups.ts';
import { job_states } from '../../src/product/jobs/jobs.ts';
import { retry_delays_ms } from '../../src/product/webhooks/deliveries.ts';
import { endpoints } from '../../src/surfaces/api/endpoints.ts';
import { renderMarkdown, rewriteLinks } from '../../src/surfaces/docs/markdown.ts';
import { markdownPath, pages } from '../../src/surfaces/docs/navigation.ts';
import type { SearchEntry } from '../../src/surfaces/docs/site.ts';
import type { TestSandbox } from '../harness/sandbox.ts';
import { sharedSandbox } from '../harness/sharedSandbox.ts';

/** The style sheets and scripts of the pages are those of the last build: run `npm run build` before this file alone. */
const root = resolve(import.meta.dirname, '../..');
let fixture: TestSandbox;
/** The pages of the site and the page at `/`, by path. */
const texts = new Map<string, string>();

beforeAll(async () => {
  fixture = await sharedSandbox();
  for (const path of ['/', ...pages.map((page) => page.path)]) texts.set(path, await (await get(path)).text());
});

const get = (path: string) => fetch(fixture.sandbox.base_url + path, { redirect: 'manual' });
/** Not with `fetch`, which adds `cache-control: no-cache` to conditional requests. */
const readStatus = (path: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    const sent = request(fixture.sandbox.base_url + path, { headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode));
    });
    sent.on('error', reject).end();
  });
const findIds = (text: string) => [...text.matchAll(/\sid="([^"]+)"/g)].map(([, id = '']) => id);
const findLinks = (text: string) => [...text.matchAll(/\shref="([^"]+)"/g)].map(([, href = '']) => href);

describe('the navigation', () => {
  test('has every guide and every group of the API exactly once', () => {
    const files = pages.flatMap(({ content }) => (content !== 'overview' && 'file' in content ? [content.file] : []));
    expect(new Set(files).size).toBe(files.length);
    const guides = readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`);
    expect(files).toEqual(expect.arrayContaining(guides));
    const listed = pages.flatMap(({ content }) =>
      content !== 'overview' && 'groups' in content ? content.groups : [],
    );
    expect([...listed].sort()).toStrictEqual(groups.map(({ name }) => name).sort());
    expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length);
  });

  test('describes every page in one sentence', () => {
    for (const { description } of pages) expect(description).toMatch(/^[A-Z].{10,}\.$/);
  });
});

describe('every page', () => {
  test.each(['/', ...pages.map((page) => page.path)])(
    '%s loads only own files and has no inline code',
    async (path) => {
      const response = await get(path);
      expect([response.status, response.headers.get('content-type')]).toStrictEqual([200, 'text/html; charset=utf-8']);
      const policy = response.headers.get('content-security-policy') ?? '';
      for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
        expect(policy).toContain(rule);
      }
      expect(policy).not.toContain('unsafe');
      const text = texts.get(path) ?? '';
      expect(text.match(/<script[^>]*>/g)).toStrictEqual([
        '<script src="/docs/early.js">',
        '<script type="module" src="/docs/docs.js">',
      ]);
      expect(text).not.toMatch(/<iframe|<style|\son\w+="|\sstyle="|javascript:/i);
      for (const [, address] of text.matchAll(/\ssrc="([^"]*)"/g)) expect(address).toMatch(/^\/docs\//);
      expect(text.match(/<h1/g)).toHaveLength(1);
    },
  );

  test('has unique ids', () => {
    for (const [path, text] of texts) expect(new Set(findIds(text)).size, path).toBe(findIds(text).length);
  });

  test('links only to pages, headings and files that exist', async () => {
    const broken: string[] = [];
    const others = new Set<string>();
    for (const [path, text] of texts) {
      for (const link of findLinks(text)) {
        const [target = '', id] = link.split('#');
        const page_text = target === '' ? text : texts.get(target);
        if (page_text === undefined && id === undefined) others.add(link);
        else if (page_text === undefined || (id !== undefined && !findIds(page_text).includes(decodeURIComponent(id))))
          broken.push(`${path}: ${link}`);
      }
    }
    expect(broken).toStrictEqual([]);
    const own = [...others].filter((link) => link.startsWith('/'));
    for (const link of own) expect([link, (await get(link)).status]).toStrictEqual([link, 200]);
    for (const link of [...others].filter((each) => !own.includes(each))) expect(link).toMatch(/^https:\/\//);
  });

  test('has images that exist, with a description', async () => {
    const images = [...texts.values()].flatMap((text) => text.match(/<img (?!src="\/docs\/brand\/)[^>]*>/g) ?? []);
    expect(images.length).toBeGreaterThan(4);
    for (const image of images) {
      expect(image).toMatch(/\salt="[^"]+"/);
      const [, address = ''] = /\ssrc="([^"]+)"/.exec(image) ?? [];
      const response = await get(address);
      expect([address, response.status, response.headers.get('content-type')]).toEqual([address, 200, 'image/webp']);
    }
  });

  test('has the base URL of the installation in its samples', () => {
    for (const { path, content } of pages) {
      if (content === 'overview' || !('file' in content)) continue;
      expect(texts.get(path)?.match(/localhost:4000|chartwire\.example\.com/), path).toBeNull();
    }
    for (const path of ['/docs', '/docs/webhooks', '/docs/link', '/docs/client-libraries', '/docs/reference/errors'])
      expect(texts.get(path), path).toContain(fixture.sandbox.base_url);
  });

  test('has its text as Markdown, whose links lead to Markdown', async () => {
    for (const page of pages) {
      const response = await get(markdownPath(page));
      expect([page.path, response.status, response.headers.get('content-type')]).toStrictEqual([
        page.path,
        200,
        'text/markdown; charset=utf-8',
      ]);
      const text = await response.text();
      expect(text).toMatch(/^# \S/);
      expect(text.replace(/^```[\s\S]*?^```/gm, '')).not.toMatch(/\]\((?!https?:|\/|#)/);
    }
    expect(await (await get('/docs/quickstart.md')).text()).toContain('](/docs/concepts.md)');
  });
});

describe('the diagrams', () => {
  const read = (path: string) =>
    [...(texts.get(path) ?? '').matchAll(/<svg class="(?:wide|narrow)"[\s\S]*?<\/svg>/g)].map(([svg]) => svg);
  const words = (svg: string) => svg.replace(/<[^>]*>/g, ' ').replace(/[\s\u00a0]+/g, ' ');

  test('have a text alternative, two layouts and no colors of their own', () => {
    const drawn = [...texts.keys()].flatMap((path) => read(path));
    expect(drawn).toHaveLength(12);
    for (const svg of drawn) {
      expect(svg).toMatch(/role="img" aria-label="[^"]{60,}"/);
      expect(svg).not.toMatch(/\s(fill|stroke)=|NaN|undefined/);
    }
    expect(drawn.filter((svg) => svg.startsWith('<svg class="narrow"'))).toHaveLength(6);
  });

  test('show the states and the times of the code', () => {
    for (const svg of read('/docs/concepts').slice(2))
      for (const state of job_states) expect(words(svg)).toContain(` ${state} `);
    for (const state of job_states)
      expect(texts.get('/docs/concepts')).toMatch(new RegExp(`<code>${state.replace('_', '_(<wbr>)?')}</code>`));
    for (const svg of read('/docs/webhooks')) {
      expect(svg.match(/<circle/g)).toHaveLength(retry_delays_ms.length);
      for (const pause of ['5 s', '5 min', '30 min', '2 h', '24 h']) expect(words(svg)).toContain(pause);
      expect(words(svg)).toContain('3.1 days');
    }
    for (const svg of read('/docs/fhir-sign-in')) {
      const shown = sign_in_ways.map(({ name }) => words(svg).indexOf(` ${name} `));
      expect(shown).toStrictEqual([...shown].sort((a, b) => a - b));
      expect(shown).not.toContain(-1);
    }
  });
});

describe('the reference', () => {
  test('has every operation on one page, with samples in three languages and a form', () => {
    for (const { id, stream, path } of endpoints) {
      const matches = [...texts].filter(([, text]) => text.includes(`<article class="operation" id="${id}"`));
      expect(
        matches.map(([page]) => page),
        id,
      ).toHaveLength(1);
      const text = matches[0]?.[1] ?? '';
      const own = text.slice(text.indexOf(`<article class="operation" id="${id}"`)).split('</article>')[0] ?? '';
      const languages = stream ? [] : ['curl', 'typescript', 'python'];
      for (const language of languages) expect(own).toContain(`id="${id}.sample.${language}"`);
      expect(own.includes(`data-path="${path}"`)).toBe(!stream);
    }
  });

  test('states no limit that every text has', () => {
    for (const [path, text] of texts) expect(text, path).not.toMatch(/\b32000\b|at least 1 characters/);
    expect(texts.get('/docs/reference')).toContain('up to 32,000 characters');
    expect([...texts.values()].some((text) => text.includes('2 to 50 characters'))).toBe(true);
  });

  test('lists every operation in the overview', () => {
    for (const { id } of endpoints) expect(texts.get('/docs/reference')).toContain(`#${id}">`);
  });
});

describe('the search', () => {
  let entries: SearchEntry[];
  beforeAll(async () => {
    entries = (await (await get('/docs/search.json')).json()) as SearchEntry[];
  });

  test('covers every page and every operation', () => {
    const urls = entries.map(({ url }) => url);
    for (const { path } of pages) expect(urls).toContain(path);
    for (const { id } of endpoints)
      expect(
        urls.filter((url) => url.endsWith(`#${id}`)),
        id,
      ).toHaveLength(1);
  });

  test('leads to headings that exist', () => {
    const broken = entries.filter(({ url }) => {
      const [path = '', id] = url.split('#');
      return !texts.has(path) || (id !== undefined && !findIds(texts.get(path) ?? '').includes(id));
    });
    expect(broken).toStrictEqual([]);
  });

  test('contains the text of tables and code', () => {
    const of = (url: string) => entries.find((entry) => entry.url === url)?.text;
    expect(of('/docs/reference/errors')).toContain('idempotency_key_running');
    expect(of('/docs/webhooks#register-an-endpoint')).toContain('webhook_url');
  });
});

describe('for programs and browsers', () => {
  test('/llms.txt lists every page as Markdown', async () => {
    const response = await get('/llms.txt');
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    const text = await response.text();
    expect(text).toMatch(/^# Chartwire\n\n> /);
    for (const page of pages) expect(text).toContain(`](${fixture.sandbox.base_url}${markdownPath(page)}): `);
  });

  test('/ says nothing about the installation', () => {
    const { client_id, access_token, larkspur, base_url } = fixture.sandbox;
    for (const value of [client_id, access_token, larkspur.url, base_url]) expect(texts.get('/')).not.toContain(value);
    expect(texts.get('/')).not.toContain('data-sandbox');
  });

  test.each([
    ['/favicon.ico', '/docs/brand/icon.svg'],
    ['/docs/', '/docs'],
    ['/docs/quickstart', '/docs'],
  ])('%s leads to %s', async (path, target) => {
    const response = await get(path);
    expect([response.status, response.headers.get('location')]).toStrictEqual([302, target]);
    expect((await get(target)).status).toBe(200);
  });

  test.each(['/docs/x', '/docs/reference/<b>x'])('%s is not found, and the page leads on', async (path) => {
    const response = await get(path);
    expect([response.status, response.headers.get('content-type')]).toStrictEqual([404, 'text/html; charset=utf-8']);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/);
    const text = await response.text();
    expect(text).toContain('id="search"');
    expect(findLinks(text)).toEqual(expect.arrayContaining(pages.map((page) => page.path)));
    expect(text).not.toContain('<b>x');
  });

  test.each([
    ['GET', '/docs/images/../../package.json'],
    ['GET', '/docs/images/..%2f..%2fREADME.md'],
    ['GET', '/docs/docs.js.map'],
    ['GET', '/v1/docs/x'],
  ])('%s %s is not found, with JSON', async (method, path) => {
    const response = await fetch(fixture.sandbox.base_url + path, { method });
    expect([response.status, await response.json()]).toMatchObject([404, { code: 'route_not_found' }]);
  });

  test.each([
    ['/docs', 'no-cache'],
    ['/docs/search.json', 'no-cache'],
    ['/docs/concepts.md', 'no-cache'],
    ['/docs/docs.js', 'no-cache'],
    ['/dashboard/files/main.js', null],
    ['/link/v1/link.js', null],
  ])('%s is sent compressed, and only if it changed', async (path, cache_control) => {
    const with_encoding = (encoding: string) =>
      fetch(fixture.sandbox.base_url + path, { headers: { 'accept-encoding': encoding } });
    const plain = await (await with_encoding('identity')).text();
    const etags = new Set<string | null>();
    for (const [accepted, encoding] of [
      ['gzip, deflate, br, zstd', 'br'],
      ['gzip', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['identity', null],
    ] as const) {
      const response = await with_encoding(accepted);
      expect([accepted, response.headers.get('content-encoding')]).toStrictEqual([accepted, encoding]);
      expect(response.headers.get('vary')).toBe('accept-encoding');
      if (cache_control) expect(response.headers.get('cache-control')).toBe(cache_control);
      expect((await response.text()) === plain).toBe(true);
      const etag = response.headers.get('etag') ?? '';
      expect(etag).not.toBe('');
      etags.add(etag);
      expect(await readStatus(path, { 'accept-encoding': accepted, 'if-none-match': etag })).toBe(304);
      expect(await readStatus(path, { 'accept-encoding': accepted, 'if-none-match': '"other"' })).toBe(200);
    }
    expect(etags.size).toBe(3);
  });
});

describe('Markdown', () => {
  test('contains no HTML: comments are dropped, the rest is shown as text', () => {
    const { html } = renderMarkdown('# A\n\n<!-- hidden -->\n\n<script>alert(1)</script>\n\nOne <b>bold</b> word.');
    expect(html.text).not.toMatch(/<script|<b>|hidden/);
    expect(html.text).toContain('&lt;b&gt;bold');
  });

  test('has headings with the anchors of GitHub', () => {
    const { headings } = renderMarkdown(
      '# Page\n\n## `POST /v1/x` & more\n\n## Again\n\n## Again\n\n### patient_x.created',
    );
    expect(headings.map(({ id }) => id)).toStrictEqual([
      'page',
      'post-v1x--more',
      'again',
      'again-1',
      'patient_xcreated',
    ]);
  });

  test('links to other files of the repository lead to their pages, or name the file', () => {
    const text =
      '[a](../reference/errors.md#x) [b](fhir.md) [c](../../ARCHITECTURE.md) [d](https://example.org) [e](#x)';
    expect(rewriteLinks(text, 'docs/guides/link.md', 'pages')).toBe(
      '[a](/docs/reference/errors#x) [b](/docs/fhir) c (`ARCHITECTURE.md`) [d](https://example.org) [e](#x)',
    );
    expect(rewriteLinks('```\n[b](fhir.md)\n```\n', 'docs/guides/link.md', 'pages')).toContain('(fhir.md)');
    expect(rewriteLinks('![i](../images/x.png)', 'docs/guides/link.md', 'markdown')).toBe('![i](/docs/images/x.png)');
  });
});
