import { scriptPage } from '../http/scriptPage.ts';

/** The page before its script has run. Styles that components make as they run carry the nonce. */
export function dashboardPage(nonce: string): string {
  return scriptPage({
    title: 'Chartwire',
    icon: '/dashboard/files/icon.svg',
    style: '/dashboard/files/main.css',
    script: '/dashboard/files/main.js',
    head: `<meta name="style-nonce" content="${nonce}">\n`,
    root: '<div id="root"></div>',
    without_script: 'The dashboard needs JavaScript.',
  });
}
