import { en, type TextName, type Texts } from './texts/en.ts';
import { es } from './texts/es.ts';

export type { TextName } from './texts/en.ts';

const texts: Record<'en' | 'es', Texts> = { en, es };
export type Language = keyof typeof texts;

/** The link's language, else the browser's first language that is supported. */
export function chooseLanguage(preferred: string, accepted: readonly string[]): Language {
  const tags = [preferred, ...accepted].map((tag) => tag.toLowerCase().split('-')[0]);
  return tags.find((tag): tag is Language => tag === 'en' || tag === 'es') ?? 'en';
}

export function isText(name: string): name is TextName {
  return Object.hasOwn(en, name);
}

export type Translate = (name: TextName, values?: Record<string, string>) => string;

/** `names` are known to every text; the values of a single text come with it. */
export function translator(language: Language, names: { emr: string; client: string }): Translate {
  return (name, values = {}) => {
    const all: Record<string, string> = { ...names, ...values };
    return texts[language][name].replace(/\{(\w+)\}/g, (placeholder, key: string) => all[key] ?? placeholder);
  };
}

/** How practices in the US write numbers and times, in either language. */
export function chooseLocale(language: string): string {
  return `${language}-US`;
}

/** A time as people read it, in their own zone. */
export function formatTime(language: string, iso: string, more: Intl.DateTimeFormatOptions = {}): string {
  const parts: Intl.DateTimeFormatOptions = { day: 'numeric', month: 'long', hour: 'numeric', minute: '2-digit' };
  return new Intl.DateTimeFormat(chooseLocale(language), { ...parts, ...more }).format(new Date(iso));
}

/** A time for sentences, with the date unless it is today. */
export function formatClock(language: string, iso: string): string {
  const at = new Date(iso);
  if (at.toDateString() !== new Date().toDateString()) return formatTime(language, iso);
  return at.toLocaleTimeString(chooseLocale(language), { hour: 'numeric', minute: '2-digit' });
}

/** “a, b and c” */
export function listed(language: Language, items: readonly string[]): string {
  // British English has no comma before “and”, which is how the texts are written.
  return new Intl.ListFormat(language === 'en' ? 'en-GB' : language).format(items);
}
