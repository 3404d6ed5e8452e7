import { offerCopy, paint } from './code.ts';
import { openCredentials } from './credentials.ts';
import { all, one } from './elements.ts';
import { openFilter } from './filter.ts';
import { openForms } from './tryIt.ts';

/** The page reads well without this; with it, it is searched, copied from and tried. */
offerCopy();
openFilter();
openForms();
foldContents();
openTarget();
addEventListener('hashchange', openTarget);
for (const code of all('code.json', HTMLElement)) paint(code);
void openCredentials();

/** On a narrow screen the contents are folded, and fold again once a choice is made. */
function foldContents(): void {
  const contents = one('.side > details', HTMLDetailsElement);
  if (!contents) return;
  const wide = matchMedia('(min-width: 64rem)');
  const follow = () => {
    contents.open = wide.matches;
  };
  follow();
  wide.addEventListener('change', follow);
  contents.addEventListener('click', (event) => {
    if (!wide.matches && event.target instanceof Element && event.target.closest('a')) contents.open = false;
  });
}

/** A link to something folded opens it. */
function openTarget(): void {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
