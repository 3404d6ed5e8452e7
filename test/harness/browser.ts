import axe from 'axe-core';
import { type Browser, chromium, type Frame, type Page } from 'playwright-core';

/** Chromium without background requests. `scripts/test.mjs` finds or installs it. */
export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
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

/** Violations of WCAG 2.2 AA that axe finds on the page. */
export async function accessibilityFaults(page: Page | Frame): Promise<string[]> {
  await page.evaluate(axe.source);
  const violations = await page.evaluate(async () => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const found = await (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: tags });
    return found.violations.map((each) => ({ id: each.id, nodes: each.nodes.map((node) => node.html) }));
  });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.join(' ')}`);
}
