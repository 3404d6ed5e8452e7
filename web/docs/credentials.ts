import { one } from './elements.ts';

export type Values = Record<string, unknown>;

export const credential_names = ['client_id', 'client_secret', 'access_token'] as const;

/** Those of the sandbox, for pages without a form. */
let sandbox: Values = {};

/**
 * The sandbox's values. Only a sandbox on this machine sends them, and only to its own pages. Fetched each time, because
 * one-time codes are valid for 30 seconds.
 */
export async function fetchSandbox(): Promise<Values | undefined> {
  if (!('sandbox' in document.body.dataset)) return undefined;
  const response = await fetch('/docs/sandbox.json', { cache: 'no-store' }).catch(() => undefined);
  if (!response?.ok) return undefined;
  sandbox = (await response.json()) as Values;
  return sandbox;
}

/** Shows the credentials form and fills it from the sandbox. Its values are stored nowhere else. */
export function showCredentials(values: Values | undefined): void {
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
  for (const name of credential_names) {
    const input = field(name);
    const value = values?.[name];
    if (input && typeof value === 'string' && input.value === '') input.value = value;
  }
  const state = one('#credentials\\.state', HTMLElement);
  if (values && state)
    state.textContent = 'Filled in from the sandbox. Every “Try it” form on this page is ready to send.';
}

/** The request headers for these credentials: from the form, or on a page without one from the sandbox. */
export function credentials(names: readonly string[]): Record<string, string> {
  const pairs = names.map((name) => [name, field(name)?.value.trim() ?? readValue(name)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ''));
}

function readValue(name: string): string {
  const value = sandbox[name];
  return typeof value === 'string' ? value : '';
}

function field(name: string): HTMLInputElement | undefined {
  return one(`#credentials\\.${name}`, HTMLInputElement);
}
