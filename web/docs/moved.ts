import { all } from './elements.ts';

/** An address of a part that is on another page now leads there, if this page has a link to it. */
export function followMoved(): void {
  const { hash } = location;
  if (hash.length < 2 || document.getElementById(decodeURIComponent(hash.slice(1)))) return;
  const link = all('main a[href]', HTMLAnchorElement).find(
    (each) => each.hash === hash && each.pathname !== location.pathname && each.origin === location.origin,
  );
  if (link) location.replace(link.href);
}
