import { scriptPage } from '../http/scriptPage.ts';
import { link_shell } from './linkPage.ts';

/** The window in which a person goes to the EMR's own page and comes back. What is in its address only its script reads. */
export const windowPage = scriptPage({
  ...link_shell,
  style: '../page.css',
  script: '../window.js',
  html: 'lang="en" data-mode="hosted"',
});
