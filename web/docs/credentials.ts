import { one } from './elements.ts';

type Values = Record<string, unknown>;

/** The sandbox's values. Fetched each time, because one-time codes are valid for 30 seconds. */
export async function fetchSandbox(): Promise<Values | undefined> {
  if (!('sandbox' in document.body.dataset)) return undefined;
  const response = await fetch('/docs/sandbox.json', { cache: 'no-store' }).catch(() => undefined);
  return response?.ok ? ((await response.json()) as Values) : undefined;
}

/** Shows the credentials form and fills it from the sandbox. Its values are stored nowhere else. */
export async function showCredentials(): Promise<void> {
  const form = one('#credentials', HTMLFormElement);
  const panel = form?.closest('details');
  if (!form || !panel) return;
  panel.hidden = false;
  form.addEventListener('submit', (event) => event.preventDefault());
  const show = one('#credentials\\.show', HTMLInputElement);
  show?.addEventListener('change', () => {
    for (const name of ['client_secret', 'access_token']) {
      const input = field(name);
      if (input) input.type = show.checked ? 'text' : 'password';
    }
  });
  const values = await fetchSandbox();
  for (const name of ['client_id', 'client_secret', 'access_token']) {
    const input = field(name);
    const value = values?.[name];
    if (input && typeof value === 'string' && input.value === '') input.value = value;
  }
  const state = one('#credentials\\.state', HTMLElement);
  if (values && state)
    state.textContent = 'Filled in from the sandbox. Every “Try it” form on this page is ready to send.';
}

/** The request headers for these credentials; empty ones are left out. */
export function credentials(names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, field(name)?.value.trim() ?? ''] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ''));
}

function field(name: string): HTMLInputElement | undefined {
  return one(`#credentials\\.${name}`, HTMLInputElement);
}
