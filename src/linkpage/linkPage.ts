import { scriptPage } from '../http/scriptPage.ts';
import type { LinkState } from '../link/linkTokens.ts';

export type LinkPage = {
  mode: 'frame' | 'hosted';
  state: LinkState | 'unknown';
  /** Who may speak to a framed page. */
  origins: readonly string[];
  language: string | null;
  /** From the page's own address to `/link/v1/`, so that the service may stand below a path. */
  files: string;
};

/** The page before it knows anything: the rest is asked for with the token, which this page never holds. */
export function linkPage({ mode, state, origins, language, files }: LinkPage): string {
  const told = escapeAttribute(JSON.stringify(origins));
  return scriptPage({
    ...link_shell,
    style: `${files}page.css`,
    script: `${files}page.js`,
    html: `lang="${language === 'es' ? 'es' : 'en'}" data-mode="${mode}"`,
    body: ` data-state="${state}" data-language="${language ?? ''}" data-origins="${told}"`,
  });
}

/** What every page of Link begins as. */
export const link_shell = {
  title: 'Link',
  icon: 'data:,',
  root: '<main id="link"></main>',
  without_script: 'This page needs JavaScript. Esta página necesita JavaScript.',
};

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
