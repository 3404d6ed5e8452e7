import { credentials } from './credentials.ts';
import { all } from './elements.ts';

export type Request = { method: string; url: string; headers: Record<string, string>; body: BodyInit | undefined };

type Field = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

export function listFields(form: HTMLFormElement): Field[] {
  return [
    ...all('input[data-in]', HTMLInputElement, form),
    ...all('select[data-in]', HTMLSelectElement, form),
    ...all('textarea[data-in]', HTMLTextAreaElement, form),
  ];
}

/** The request of a form. Nothing is validated here, because the API does that. */
export function readRequest(form: HTMLFormElement): Request {
  const filled = listFields(form).filter((field) => field.value !== '');
  const named = (place: string) => filled.filter((field) => field.dataset.in === place);
  const pairs = (place: string) => named(place).map((field): [string, string] => [field.name, field.value]);
  const in_path = new Map(pairs('path'));
  const path = (form.dataset.path ?? '').replace(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(in_path.get(name) ?? ''),
  );
  const query = new URLSearchParams(pairs('query')).toString();
  const headers = { ...credentials((form.dataset.headers ?? '').split(' ')), ...Object.fromEntries(pairs('header')) };
  const request = { method: form.dataset.method ?? 'GET', url: query ? `${path}?${query}` : path, headers };
  const [json] = all('textarea[data-in="body"]', HTMLTextAreaElement, form);
  if (json) return { ...request, headers: { ...headers, 'content-type': 'application/json' }, body: json.value };
  const [file] = all('input[data-in="file"]', HTMLInputElement, form);
  return { ...request, body: file && toForm(file, pairs('form')) };
}

function toForm(file: HTMLInputElement, pairs: [string, string][]): FormData {
  const data = new FormData();
  for (const [name, value] of pairs) data.append(name, value);
  const [chosen] = file.files ?? [];
  if (chosen) data.append(file.name, chosen);
  return data;
}
