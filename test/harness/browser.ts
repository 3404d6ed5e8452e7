import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type axe from 'axe-core';
import { type Browser, type CDPSession, chromium, type Frame, type Page } from 'playwright-core';

let running: Promise<Browser> | undefined;

/**
 * The Chromium that the test files of one worker share. A file closes its windows with `closeWindows`; the browser ends
 * with the worker process.
 */
export function openBrowser(): Promise<Browser> {
  running ??= launch();
  return running;
}

export async function closeWindows(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** How long a page may take to load or to show something: as long as `expect.poll` in vitest.config.ts. */
const timeout_ms = 60_000;

/**
 * Keeps what a page shows only for a moment (“Copied” for two seconds, a toast for eight) until the next page is
 * loaded, because a busy machine may be too slow to see it.
 */
export async function keepMessages(page: Page): Promise<void> {
  await page.evaluate(`{
    const start = setTimeout;
    globalThis.setTimeout = (work, ms, ...more) => [2_000, 8_000].includes(ms) ? 0 : start(work, ms, ...more);
  }`);
}

/** Chromium without background requests. `scripts/test.mjs` finds or installs it. */
async function launch(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell',
    // A test of a command ends it by a signal to this process, which must not close the browser of the other files.
    handleSIGHUP: false,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // Pages of a site share a process, and with it the compiled scripts: a sixth less CPU time per page.
      '--process-per-site',
      // No page lives long enough to repay the optimizing compilers: axe took 0.52 s instead of 0.65 s on the page of jobs
      // (medians of 3, on a busy machine).
      '--js-flags=--no-opt --no-maglev',
    ],
  });
  browser.on('context', (context) => context.setDefaultTimeout(timeout_ms));
  return browser;
}

// Half the size of the `source` that the package exports.
const axe_source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/**
 * Violations of WCAG 2.2 AA that axe finds on the page, or in the elements `within` a selector. `colors` checks only the
 * rules that depend on the color scheme. Of long tables the first rows are checked: the others have the same markup, and
 * took most of the suite's browser time.
 */
export async function accessibilityViolations(
  page: Page | Frame,
  { rules = 'all', within = 'html' }: { rules?: 'all' | 'colors'; within?: string } = {},
): Promise<string[]> {
  // A page that is checked in several states has it already.
  if (!(await page.evaluate('"axe" in globalThis'))) await loadAxe(page);
  const violations = await page.evaluate(
    async ({ rules, within }) => {
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
      const color_rules = ['color-contrast', 'link-in-text-block'];
      const result = await (globalThis as unknown as { axe: typeof axe }).axe.run(
        { include: [within], exclude: ['tbody > tr:nth-child(n + 9)'] },
        {
          runOnly: rules === 'all' ? { type: 'tag', values: tags } : { type: 'rule', values: color_rules },
          resultTypes: ['violations'],
        },
      );
      return result.violations.map((each) => ({ id: each.id, nodes: each.nodes.map((node) => node.html) }));
    },
    { rules, within },
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.join(' ')}`);
}

/**
 * As a script of its own, which Chromium compiles once for all pages of a site: 0.15 to 0.3 s per page. Playwright's
 * `evaluate` passes it to `eval`, which took up to 0.6 s, but is the only way into a frame.
 */
async function loadAxe(page: Page | Frame): Promise<void> {
  if (!('context' in page)) {
    await page.evaluate(axe_source);
    return;
  }
  const remote = sessions.get(page) ?? (await page.context().newCDPSession(page));
  sessions.set(page, remote);
  await remote.send('Runtime.evaluate', { expression: axe_source });
}

/** Kept until the page is closed: ending a session removes the page's virtual security keys, also those of another one. */
const sessions = new WeakMap<Page, CDPSession>();
