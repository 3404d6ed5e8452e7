import type { Sandbox } from './seedSandbox.ts';

/** The pages that `chartwire open` knows, by name. */
export function pagesOf(base_url: string, sandbox: Sandbox | undefined): Map<string, string> {
  const own = base_url.replace(/\/+$/, '');
  const pages = new Map([
    ['dashboard', `${own}/dashboard`],
    ['docs', `${own}/docs`],
  ]);
  if (sandbox) pages.set('larkspur', sandbox.larkspur.url);
  return pages;
}
