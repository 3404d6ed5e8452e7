import { highlight, showCopyButtons } from './code.ts';
import { showCredentials } from './credentials.ts';
import { all, one } from './elements.ts';
import { showFilter } from './filter.ts';
import { showForms } from './tryIt.ts';

// Progressive enhancement: the page is complete without scripts. This adds search, copy buttons and forms.
showCopyButtons();
showFilter();
showForms();
collapseContents();
openTarget();
addEventListener('hashchange', openTarget);
for (const code of all('code.json', HTMLElement)) highlight(code);
void showCredentials();

/** On a narrow screen the table of contents is collapsed, also after a link in it was followed. */
function collapseContents(): void {
  const contents = one('.side > details', HTMLDetailsElement);
  if (!contents) return;
  const wide = matchMedia('(min-width: 64rem)');
  const update = () => {
    contents.open = wide.matches;
  };
  update();
  wide.addEventListener('change', update);
  contents.addEventListener('click', (event) => {
    if (!wide.matches && event.target instanceof Element && event.target.closest('a')) contents.open = false;
  });
}

/** Opens a collapsed section that the URL points to. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
