import { createHash } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Connector } from '../../../src/emr/connector.ts';
import { addLinkToken } from '../../../src/product/link/linkTokens.ts';
import { startProduction } from '../../api/support.ts';
import { closeWindows, openBrowser } from '../../harness/browser.ts';
import { type LinkHost, type LinkWindow, openLinkWindow, startLinkHost } from '../../harness/servers/linkHost.ts';

/** In production mode, only registered origins are allowed, not even localhost. */
let production: Awaited<ReturnType<typeof startProduction>>;
let browser: Browser;
let registered: LinkHost;
let hostile: LinkHost;
beforeAll(async () => {
  [production, browser] = await Promise.all([startProduction(), openBrowser()]);
  const { base_url, ctx } = production.service;
  registered = await startLinkHost(base_url, `<iframe id="inner" srcdoc="<p>An advertisement</p>"></iframe>`);
  hostile = await startLinkHost(base_url);
  // The address of the EMR does not exist. Tests run in the product's process and can change its connectors.
  const { describeServer: _, ...larkspur } = ctx.connectors.get('larkspur') ?? never();
  (ctx.connectors as Map<string, Connector>).set('larkspur', larkspur);
  await ctx.db.tenant(production.client.id, async (tx) => {
    await tx`UPDATE clients SET frame_origins = ${[registered.origin, 'https://x.example; script-src *']}`;
  });
});
afterAll(async () => {
  await closeWindows(browser);
  await registered.close();
  await hostile.close();
  await production.close();
});

function never(): never {
  throw new Error('The Larkspur connector is missing.');
}

function linkToken(): Promise<string> {
  const { ctx } = production.service;
  return ctx.db.tenant(production.client.id, (tx) =>
    addLinkToken(tx, {
      client_id: production.client.id,
      user_id: 'user',
      org_id: 'org',
      connector: 'larkspur',
      emr_app_id: null,
      search_params: {},
      emr_address: 'https://emr.example.org',
      account_id: null,
      callback_url: null,
      language: null,
      created_in: 'api',
      finds_practice: false,
      practice_id: null,
    }),
  );
}

const frameUrl = (token: string) =>
  `${production.service.base_url}/link/v1/frame/${createHash('sha256').update(token).digest('hex')}`;
const sessions = ({ sent }: LinkWindow) => sent.filter(({ url }) => url.endsWith('/link/v1/session'));
/** Adds Link's frame without its script. The frame waits for its first message. */
const addFrame = (window: LinkWindow, token: string) =>
  window.page.evaluate(`new Promise((resolve) => {
    window.link = document.createElement('iframe');
    link.onload = () => resolve();
    link.src = ${JSON.stringify(frameUrl(token))};
    document.body.append(link);
  })`);
const message = (token: string) => JSON.stringify({ type: 'chartwire:init', token });

describe('framing Link', () => {
  test('is allowed for a registered origin', async () => {
    const window = await openLinkWindow(browser, registered.origin);
    const frame = await window.start(await linkToken());
    await frame.waitForSelector('.consent');
    await expect.poll(() => frame.innerText('.facts')).toMatch(/emr\.example\.org/);
    await window.close();
  });

  test('is blocked by the browser for other origins', async () => {
    const window = await openLinkWindow(browser, hostile.origin);
    const frame = await window.start(await linkToken());
    await expect.poll(() => frame.url()).toMatch(/^chrome-error:/);
    expect(sessions(window)).toStrictEqual([]);
    expect(await window.calls()).toStrictEqual([]);
    await window.page.keyboard.press('Escape');
    await window.page.waitForSelector('dialog', { state: 'detached' });
    expect(await window.calls()).toStrictEqual([['exit', 'closed']]);
    await window.close();
  });

  test('is limited by a policy with only the registered origins', async () => {
    const response = await fetch(frameUrl(await linkToken()));
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy.split(';').map((directive) => directive.trim())).toContain(`frame-ancestors ${registered.origin}`);
    expect(policy).not.toContain('x.example');
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).not.toMatch(/<script(?![^>]* src=)|<style| on\w+=| style=/);
  });
});

describe('forged messages', () => {
  test('the page accepts one message, from its parent on an allowed origin', async () => {
    const window = await openLinkWindow(browser, registered.origin);
    const [good, other] = [await linkToken(), await linkToken()];
    await addFrame(window, good);
    // From another frame of the page, and of the wrong type.
    await window.page.evaluate(
      `inner.contentWindow.eval('parent.link.contentWindow.postMessage(${message(other)}, "*")')`,
    );
    await window.page.evaluate(`link.contentWindow.postMessage({ type: 'chartwire:success' }, '*')`);
    await window.page.evaluate(`link.contentWindow.postMessage({ type: 'chartwire:init', token: 5 }, '*')`);
    const frame = window.page.frames().find((each) => each.url() === frameUrl(good));
    expect(await frame?.innerText('main')).toBe('');
    expect(sessions(window)).toStrictEqual([]);
    const request = window.page.waitForRequest('**/link/v1/session');
    await window.page.evaluate(`link.contentWindow.postMessage(${message(good)}, '*')`);
    expect((await request).headers()['link-token']).toBe(good);
    await frame?.waitForSelector('.consent');
    await window.page.evaluate(`link.contentWindow.postMessage(${message(other)}, '*')`);
    expect(sessions(window)).toHaveLength(1);
    await window.close();
  });

  test('the page rejects a token of another link than the one in its URL', async () => {
    const window = await openLinkWindow(browser, registered.origin);
    const [good, other] = [await linkToken(), await linkToken()];
    await addFrame(window, good);
    await window.page.evaluate(`link.contentWindow.postMessage(${message(other)}, '*')`);
    const frame = window.page.frames().find((each) => each.url() === frameUrl(good));
    await frame?.waitForSelector('.badge');
    await expect.poll(() => frame?.innerText('h1')).toBe('This link is not valid');
    expect(sessions(window)).toStrictEqual([]);
    await window.close();
  });

  test('the script ignores messages of other windows', async () => {
    const window = await openLinkWindow(browser, registered.origin);
    const frame = await window.start(await linkToken());
    await frame.waitForSelector('.consent');
    const before = [['event', 'opened', {}]];
    await expect.poll(() => window.calls()).toStrictEqual(before);
    for (const forged of [
      { type: 'chartwire:success', public_token: 'pt_forged' },
      { type: 'chartwire:close' },
      { type: 'chartwire:event', name: 'linked' },
      { type: 'chartwire:ready', title: 'Forged', close: 'Forged' },
    ]) {
      const text = JSON.stringify(forged);
      // From the page itself and from a frame in it.
      await window.page.evaluate(`window.postMessage(${text}, '*')`);
      await window.page.evaluate(`inner.contentWindow.eval('parent.postMessage(${text}, "*")')`);
    }
    const popup = window.page.waitForEvent('popup');
    await window.page.evaluate(`void window.open(${JSON.stringify(hostile.origin)})`);
    const opened = await popup;
    await opened.waitForLoadState();
    await opened.evaluate(`opener.postMessage({ type: 'chartwire:success', public_token: 'pt_forged' }, '*')`);
    // Messages arrive in order, so the forged ones have arrived before this one.
    await window.page.evaluate(`new Promise((resolve) => { onmessage = resolve; postMessage('last', '*'); })`);
    expect(await window.calls()).toStrictEqual(before);
    await expect.poll(() => window.page.locator('dialog').count()).toBe(1);
    await expect.poll(() => window.page.getAttribute('dialog', 'aria-label')).toBe('Connect Larkspur');
    await window.close();
  });

  test('the page sends messages only to its parent’s origin', async () => {
    const window = await openLinkWindow(browser, registered.origin);
    await window.page.evaluate(`window.heard = []; addEventListener('message', (event) => heard.push(event.origin))`);
    const frame = await window.start(await linkToken());
    await frame.waitForSelector('.consent');
    const origins = await window.page.evaluate<string[]>('heard');
    expect(new Set(origins)).toStrictEqual(new Set([production.service.base_url]));
    const posted = await frame.evaluate<string[]>(`new Promise((resolve) => {
      const reported = [];
      const real = parent.postMessage;
      Object.defineProperty(window, 'parent', { value: { postMessage: (data, origin) => { reported.push(origin); resolve(reported); } } });
      dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape' }));
    })`);
    expect(posted).toStrictEqual([registered.origin]);
    await window.close();
  });
});
