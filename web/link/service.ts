export type Field = {
  name: string;
  label: string;
  secret: boolean;
  autocomplete: string;
  optional: boolean;
  known: boolean;
  value: string | null;
};

/** One of several ways to sign in, where the EMR knows more than one. */
export type Way = {
  name: string;
  label: string;
  about: string;
  fields: string[];
  on_page: boolean;
  tells: { what: string; value: string } | null;
};

export type Session = {
  emr: string;
  organization: string;
  emr_host: string;
  update: boolean;
  fields: Field[];
  ways: Way[];
  way: string | null;
  resend_code: boolean;
  language: string | null;
  returns: boolean;
  client: { name: string; logo: string | null; colour: string | null };
};

export type Linked = { public_token: string | null; return_to: string | null };

export type PageState = { state: string; failure: string | null };

/** `code` is the service's own, or `offline` when nothing answered; `message` are its words for programs. */
export type Refused = { code: string; message?: string };

/** The service, as the person with this link token may ask it. The token travels in a header, never in an address. */
export function openService(token: string) {
  const ask = <T>(path: string, body?: unknown) => exchange<T>(path, { 'link-token': token }, body);
  return {
    token,
    session: () => ask<Session>('session'),
    signIn: (credentials: Record<string, string>, one_time_code?: string) =>
      ask<Linked>('sign-in', { credentials, ...(one_time_code === undefined ? {} : { one_time_code }) }),
    startPage: (credentials: unknown) => ask<{ url: string; window: string }>('oauth/start', { credentials }),
    pageState: () => ask<PageState>('oauth/state'),
  };
}

/** Hands over what a person brought back from the EMR's page. */
export function finishPage(query: string, window: string): Promise<object | Refused> {
  return exchange<object>('oauth/finish', {}, { query, window });
}

async function exchange<T>(path: string, headers: Record<string, string>, body?: unknown): Promise<T | Refused> {
  try {
    const answer = await fetch(new URL(path, import.meta.url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
    });
    const told = await answer.json();
    // The page and its endpoints are served together, so what the service says has this shape.
    return answer.ok ? (told as T) : { code: String(told.code ?? 'trouble'), message: String(told.message ?? '') };
  } catch {
    return { code: 'offline' };
  }
}

export function isRefused(answer: object): answer is Refused {
  return 'code' in answer;
}
