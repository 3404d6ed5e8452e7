/** What a reader has chosen: the theme, and the language of the code samples. Nothing else is stored. */
type Preferences = { theme?: string; language?: string };

const key = 'chartwire.docs';

/** Shows the page as the reader has chosen: the style sheet depends on these attributes of the root element. */
export function applyPreferences(): void {
  const { theme, language } = readPreferences();
  const { dataset } = document.documentElement;
  if (theme) dataset.theme = theme;
  else delete dataset.theme;
  if (language) dataset.language = language;
}

export function readPreferences(): Preferences {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}') as Preferences;
  } catch {
    // Storage is turned off, or contains something else.
    return {};
  }
}

/** Stores and applies a choice. Without storage it applies to this page. */
export function choose(choice: Preferences): void {
  try {
    localStorage.setItem(key, JSON.stringify({ ...readPreferences(), ...choice }));
    applyPreferences();
  } catch {
    Object.assign(document.documentElement.dataset, choice);
  }
}
