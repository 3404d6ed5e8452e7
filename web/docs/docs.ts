import { highlight, showCopyButtons } from './code.ts';
import { fetchSandbox, showCredentials } from './credentials.ts';
import { all } from './elements.ts';
import { showMenuButton } from './menu.ts';
import { followMoved } from './moved.ts';
import { personalize } from './personal.ts';
import { showRunButtons } from './run.ts';
import { showSearch } from './search.ts';
import { followScroll } from './spy.ts';
import { showTabs } from './tabs.ts';
import { showThemeButton } from './theme.ts';
import { showForms } from './tryIt.ts';

// Progressive enhancement: pages are complete without scripts. This adds search, copy buttons, tabs and forms.
followMoved();
showMenuButton();
showThemeButton();
showTabs();
showSearch();
showCopyButtons();
showForms();
followScroll();
for (const code of all('pre > code', HTMLElement)) highlight(code);
const values = await fetchSandbox();
showCredentials(values);
if (values) {
  personalize(values);
  showRunButtons();
}
