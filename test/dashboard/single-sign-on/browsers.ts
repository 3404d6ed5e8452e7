import { expect } from 'vitest';
import type { ApiResponse } from '../../harness/api.ts';
import type { Person, TestProvider } from '../../harness/servers/identityProvider.ts';

export type Browser = ReturnType<typeof createBrowser>;

/** Keeps cookies by host name, as browsers do, and does not follow redirects. */
export function createBrowser(base_url: string, jar = new Map<string, string>()) {
  let nonce = '';
  const open = async (url: string, init: RequestInit = {}) => {
    const { hostname, searchParams } = new URL(url);
    nonce = searchParams.get('nonce') ?? nonce;
    const own = [...jar].filter(([name]) => name.startsWith(`${hostname} `));
    const cookie = own.map(([name, value]) => `${name.slice(hostname.length + 1)}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', ...init, headers: { ...init.headers, cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') jar.delete(`${hostname} ${name}`);
      else jar.set(`${hostname} ${name}`, value);
    }
    return response;
  };
  const api = async (method: string, path: string, body?: unknown, more = {}): Promise<ApiResponse> => {
    const headers = { origin: base_url, 'content-type': 'application/json', ...more };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await open(`${base_url}/dashboard/api/${path}`, { method, headers, ...sent });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
  return {
    base_url,
    jar,
    open,
    api,
    nonce: () => nonce,
    session: async () => (await api('GET', 'session')).body.session,
    /** The text that the sign-in page shows, once. */
    errorShown: async () => {
      const { body } = await api('GET', 'sign-in');
      expect((await api('GET', 'sign-in')).body.error).toBeNull();
      return body.error;
    },
  };
}

/** Goes to the provider and returns the URL to which it sends the browser back. */
export async function visitProvider(browser: Browser): Promise<string> {
  const { body } = await browser.api('POST', 'single-sign-on', { path: '/dashboard/settings' });
  expect(body).toMatchObject({ success: true });
  return followProvider(browser, body.url);
}

export async function followProvider(browser: Browser, start: string): Promise<string> {
  let url = start;
  while (!url.startsWith(browser.base_url)) {
    const response = await browser.open(url);
    const location = response.headers.get('location');
    if (!location) throw new Error(`The provider returned ${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
  }
  return url;
}

export async function callback(browser: Browser, url: string): Promise<{ status: number; location: string | null }> {
  const { status, headers } = await browser.open(url);
  return { status, location: headers.get('location') };
}

/** Each sign-in asks the provider anew: its own session would sign in the previous person. */
export async function signInAs(provider: TestProvider, browser: Browser, person: Person | undefined) {
  forgetProvider(browser);
  provider.current = person;
  return callback(browser, await visitProvider(browser));
}

export function forgetProvider({ jar }: Browser): void {
  for (const name of [...jar.keys()]) if (name.startsWith('localhost ')) jar.delete(name);
}
