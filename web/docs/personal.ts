import { highlight } from './code.ts';
import { credential_names, type Values } from './credentials.ts';
import { all, make, one } from './elements.ts';

/** Puts the sandbox's credentials, its IDs and its EMR's address into the samples, in place of variables and examples. */
export function personalize(values: Values): void {
  for (const code of all('pre > code', HTMLElement)) {
    const form = one('form', HTMLFormElement, code.closest('.shown') ?? document.createElement('div'));
    const text = code.textContent ?? '';
    const filled = putIds(putCredentials(putAddress(text, values), values), form, values);
    if (filled === text) continue;
    replaceText(code, filled);
    if (putCredentials(text, values) !== text) markPersonal(code);
  }
  putJobId(values.job_id);
}

/** A later block of the page refers to the job of an earlier one. */
export function putJobId(job_id: unknown): void {
  if (job_id === undefined || job_id === null) return;
  for (const code of all('[data-run] code', HTMLElement)) {
    const text = code.textContent ?? '';
    const filled = text.replace(/((?:job_id=|\/v1\/jobs\/|"job_id": ))\d+/g, `$1${String(job_id)}`);
    if (filled !== text) replaceText(code, filled);
  }
}

function replaceText(code: HTMLElement, text: string): void {
  code.textContent = text;
  highlight(code);
}

function putAddress(text: string, { larkspur_url }: Values): string {
  return typeof larkspur_url === 'string' ? text.replaceAll('http://127.0.0.1:4100', larkspur_url) : text;
}

/** Shell variables, and the environment variables of the other languages. */
function putCredentials(text: string, values: Values): string {
  let filled = text.replace(/const \{ ([^}]*) \} = process\.env;/g, (_, names: string) =>
    names
      .split(', ')
      .map((each) => each.replace(" = ''", ''))
      .map((name) => `const ${name} = '${String(values[name.toLowerCase()] ?? '')}';`)
      .join('\n'),
  );
  for (const name of credential_names) {
    const variable = name.toUpperCase();
    const value = String(values[name] ?? '');
    filled = filled
      .replaceAll(`"${name}: $${variable}"`, `'${name}: ${value}'`)
      .replaceAll(`os.environ["${variable}"]`, `"${value}"`)
      .replaceAll(`process.env.CHARTWIRE_${variable} ?? ''`, `'${value}'`);
  }
  return filled === text || filled.includes('os.') ? filled : filled.replace(/^import os\n\n?/m, '');
}

/** The examples of an operation's samples are replaced by values that exist. */
function putIds(text: string, form: HTMLFormElement | undefined, values: Values): string {
  const read = (json: string | undefined) => JSON.parse(json ?? '{}') as Record<string, unknown>;
  const examples = Object.entries(read(form?.dataset.examples));
  const sources = read(form?.dataset.found);
  const known = (values.found ?? {}) as Record<string, unknown>;
  return examples.reduce((filled, [name, example]) => {
    const value = known[String(sources[name])];
    if (typeof value !== 'string' || example === undefined || String(example).length < 4) return filled;
    return filled.replaceAll(String(example), value);
  }, text);
}

function markPersonal(code: HTMLElement): void {
  const caption = one('figcaption', HTMLElement, code.closest('figure') ?? document.createElement('div'));
  if (!caption || one('.personal', HTMLElement, caption)) return;
  const note = make('span', { class: 'personal', title: 'Shown only on this machine' }, 'your sandbox’s credentials');
  caption.insertBefore(note, one('button.copy', HTMLButtonElement, caption) ?? null);
}
