import { one } from './elements.ts';

type Values = Record<string, unknown>;

/** What the sandbox tells this page; asked anew each time, for a one-time code lives half a minute. */
export async function askSandbox(): Promise<Values | undefined> {
  if (!('sandbox' in document.body.dataset)) return undefined;
  const answer = await fetch('/docs/sandbox.json', { cache: 'no-store' }).catch(() => undefined);
  return answer?.ok ? ((await answer.json()) as Values) : undefined;
}

/** Shows the form for credentials and fills it from the sandbox. What it holds is kept nowhere else. */
export async function openCredentials(): Promise<void> {
  const form = one('#credentials', HTMLFormElement);
  if (!form) return;
  form.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  const show = one('#credentials\\.show', HTMLInputElement);
  show?.addEventListener('change', () => {
    for (const name of ['client_secret', 'access_token']) {
      const input = field(name);
      if (input) input.type = show.checked ? 'text' : 'password';
    }
  });
  const values = await askSandbox();
  for (const name of ['client_id', 'client_secret', 'access_token']) {
    const input = field(name);
    const value = values?.[name];
    if (input && typeof value === 'string' && input.value === '') input.value = value;
  }
  const state = one('#credentials\\.state', HTMLElement);
  if (values && state) state.textContent = 'Filled from the sandbox: every “Try it” below works as it stands.';
}

/** The headers that a request needs, as far as they are known. */
export function credentials(names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, field(name)?.value.trim() ?? ''] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ''));
}

function field(name: string): HTMLInputElement | undefined {
  return one(`#credentials\\.${name}`, HTMLInputElement);
}
