import { all } from './elements.ts';
import { choose, readPreferences } from './preferences.ts';

/** Code samples show the language that was chosen last, on all pages. Arrow keys go to the next one. */
export function showTabs(): void {
  const tabs = all('.samples [role="tab"]', HTMLButtonElement);
  markSelected(tabs, readPreferences().language ?? 'curl');
  for (const tab of tabs) {
    tab.addEventListener('click', () => select(tabs, tab));
    tab.addEventListener('keydown', (event) => {
      const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
      if (step === 0) return;
      event.preventDefault();
      const own = tabs.filter((each) => each.parentElement === tab.parentElement);
      const next = own[(own.indexOf(tab) + step + own.length) % own.length];
      if (!next) return;
      select(tabs, next);
      next.focus();
    });
  }
}

function select(tabs: HTMLButtonElement[], tab: HTMLButtonElement): void {
  const language = tab.dataset.language ?? '';
  const before = tab.getBoundingClientRect().top;
  choose({ language });
  markSelected(tabs, language);
  // Samples above now have a different height: keeps what the reader is looking at in place.
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
}

function markSelected(tabs: HTMLButtonElement[], language: string): void {
  for (const tab of tabs) {
    const selected = tab.dataset.language === language;
    tab.setAttribute('aria-selected', String(selected));
    tab.tabIndex = selected ? 0 : -1;
  }
}
