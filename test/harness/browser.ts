import axe from 'axe-core';
import { type Browser, chromium, type Frame, type Page } from 'playwright-core';

/** Chromium without background requests. `scripts/test.mjs` finds or installs it. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium-headless-shell',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/**
 * Violations of WCAG 2.2 AA that axe finds on the page. `colors` checks only the rule that depends on the color scheme.
 * Of long tables the first rows are checked: the others have the same markup, and took most of the suite's browser time.
 */
export async function accessibilityViolations(page: Page | Frame, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async (rules) => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const found = await (globalThis as unknown as { axe: typeof axe }).axe.run(
      { exclude: ['tbody > tr:nth-child(n + 9)'] },
      {
        runOnly: rules === 'all' ? { type: 'tag', values: tags } : { type: 'rule', values: ['color-contrast'] },
        resultTypes: ['violations'],
      },
    );
    return found.violations.map((each) => ({ id: each.id, nodes: each.nodes.map((node) => node.html) }));
  }, rules);
  return violations.map(({ id, nodes }) => `${id}: ${nodes.join(' ')}`);
}
