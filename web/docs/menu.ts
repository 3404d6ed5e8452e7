import { one } from './elements.ts';

/** On narrow screens the sidebar opens over the page. */
export function showMenuButton(): void {
  const button = one('button.menu', HTMLButtonElement);
  const side = one('.side', HTMLElement);
  if (!button || !side) return;
  const set = (open: boolean) => {
    button.setAttribute('aria-expanded', String(open));
    document.body.classList.toggle('menu-open', open);
  };
  button.hidden = false;
  button.addEventListener('click', () => set(button.getAttribute('aria-expanded') !== 'true'));
  // A link to a part of the same page does not leave it.
  side.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a')) set(false);
  });
  addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || button.getAttribute('aria-expanded') !== 'true') return;
    set(false);
    button.focus();
  });
  matchMedia('(min-width: 64rem)').addEventListener('change', () => set(false));
  const current = one('.side a[aria-current="page"]', HTMLElement);
  // Not scrollIntoView: it also makes the link the place from which Tab continues, past the link that skips the menu.
  if (current) side.scrollTop = Math.max(0, current.offsetTop - side.clientHeight / 2);
}
