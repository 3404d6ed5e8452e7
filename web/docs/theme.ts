import { one } from './elements.ts';
import { choose, readPreferences } from './preferences.ts';

const labels: Record<string, string> = { '': 'Auto', light: 'Light', dark: 'Dark' };

/** A button that cycles through the themes: system, light, dark. */
export function showThemeButton(): void {
  const button = one('button.theme', HTMLButtonElement);
  if (!button) return;
  const themes = Object.keys(labels);
  let theme = readPreferences().theme ?? '';
  const show = () => {
    button.textContent = labels[theme] ?? '';
    button.setAttribute('aria-label', `Theme: ${labels[theme]}`);
  };
  button.addEventListener('click', () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length] ?? '';
    choose({ theme });
    show();
  });
  show();
  button.hidden = false;
}
