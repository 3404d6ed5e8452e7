import { parseUrl } from '../../catalog/parseUrl.ts';
import type { PagePolicy } from '../../http/pages/servePages.ts';
import { type ShellPage, shellPage } from '../../http/pages/shellPage.ts';
import type { LinkState } from '../../product/link/linkTokens.ts';

export type LinkPage = {
  mode: 'frame' | 'hosted';
  /** `in_fragment`: the server does not see the token, so the page asks for the link itself. */
  state: LinkState | 'unknown' | 'in_fragment';
  /** Origins that may exchange messages with a framed page. */
  origins: readonly string[];
  language: string | null;
  /** Relative URL of `/link/v1/`, so that the service may be served below a path. */
  files: string;
};

/** The Link page. It does not contain the link token; its script requests the rest with it. */
export function linkPage({ mode, state, origins, language, files }: LinkPage): string {
  return shellPage({
    ...shell,
    style: `${files}page.css`,
    script: `${files}page.js`,
    html: `lang="${language === 'es' ? 'es' : 'en'}" data-mode="${mode}"`,
    body: ` data-state="${state}" data-language="${language ?? ''}" data-origins="${escapeAttribute(JSON.stringify(origins))}"`,
  });
}

const shell: Pick<ShellPage, 'title' | 'icon' | 'root' | 'without_script'> = {
  title: 'Link',
  icon: 'data:,',
  root: '<main id="link"></main>',
  without_script: 'This page needs JavaScript. Esta página necesita JavaScript.',
};

/**
 * The window that goes to the EMR's sign-in page and returns from it. Its script reads the parameters in its URL. `files`
 * is the relative URL of `/link/v1/`.
 */
export function windowPage(files: string): string {
  return shellPage({
    ...shell,
    style: `${files}page.css`,
    script: `${files}window.js`,
    html: 'lang="en" data-mode="hosted"',
  });
}

/** Logos are data URLs. The origins that may frame the page are configured per client. */
export function linkPolicy(frame_ancestors: readonly string[]): PagePolicy {
  return {
    directives: {
      'img-src': ["'self'", 'data:'],
      'frame-ancestors': frame_ancestors.length > 0 ? [...frame_ancestors] : ["'none'"],
    },
  };
}

/**
 * Origins on this machine, which may frame Link in sandbox mode without being registered. Not [::1]: a policy cannot
 * name an IPv6 address, and browsers log an error.
 */
const loopback_origins = ['http://localhost:*', 'http://127.0.0.1:*'];

/** The origins that may frame a client's Link. Anything but a plain origin is left out, because it could end the directive. */
export function framingOrigins(registered: readonly string[], sandbox: boolean): string[] {
  const origins = registered.filter((origin) => parseUrl(origin)?.origin === origin);
  return sandbox ? [...origins, ...loopback_origins] : origins;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
