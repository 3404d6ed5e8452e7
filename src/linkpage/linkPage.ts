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
  return `<!doctype html>
<html lang="${language === 'es' ? 'es' : 'en'}" data-mode="${mode}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>Link</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${files}page.css">
<script type="module" src="${files}page.js"></script>
</head>
<body data-state="${state}" data-language="${language ?? ''}" data-origins="${escapeAttribute(JSON.stringify(origins))}">
<main id="link"></main>
<noscript><p>This page needs JavaScript. Esta página necesita JavaScript.</p></noscript>
</body>
</html>
`;
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
