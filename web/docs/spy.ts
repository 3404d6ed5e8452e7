import { all, one } from './elements.ts';

/** Marks the entry of the table of contents whose part of the page is being read. */
export function followScroll(): void {
  const links = all('.spy a', HTMLAnchorElement);
  const parts = links.flatMap((link) => {
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    return target ? [{ link, target }] : [];
  });
  if (parts.length === 0) return;
  const end = one('.source', HTMLElement);
  const update = () => {
    const line = innerHeight * 0.25;
    const at_end = end !== undefined && end.getBoundingClientRect().bottom <= innerHeight;
    const passed = parts.filter(({ target }) => target.getBoundingClientRect().top <= line);
    const current = (at_end ? parts.at(-1) : passed.at(-1)) ?? parts[0];
    for (const { link } of parts) {
      if (link !== current?.link) link.removeAttribute('aria-current');
      else if (link.getAttribute('aria-current') !== 'location') {
        link.setAttribute('aria-current', 'location');
        showInPanel(link);
      }
    }
  };
  // Called when a part crosses the line, also by a jump, or the end of the page comes into view, instead of for every
  // scroll event: everything above the line counts as visible.
  const observer = new IntersectionObserver(update, { rootMargin: '1000000px 0px -75% 0px' });
  const end_observer = new IntersectionObserver(update, { threshold: 1 });
  for (const { target } of parts) observer.observe(target);
  if (end) end_observer.observe(end);
  update();
}

/** Scrolls the sidebar, not the page, so that the entry is visible. */
function showInPanel(link: HTMLElement): void {
  const panel = link.closest('nav');
  if (!panel || panel.scrollHeight <= panel.clientHeight) return;
  const [own, outer] = [link.getBoundingClientRect(), panel.getBoundingClientRect()];
  if (own.top < outer.top || own.bottom > outer.bottom) panel.scrollTop += own.top - outer.top - outer.height / 3;
}
