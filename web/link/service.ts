export type Field = {
  name: string;
  label: string;
  secret: boolean;
  autocomplete: string;
  optional: boolean;
  known: boolean;
  value: string | null;
};

/** A sign-in method, where the EMR supports more than one. */
export type SignInMethod = {
  name: string;
  label: string;
  about: string;
  fields: string[];
  on_page: boolean;
  sign_in_host: string;
  tells: { what: string; value: string } | null;
};

/** A practice of the directory. */
export type Practice = {
  id: string;
  name: string;
  city: string | null;
  state: string | null;
  parent: string | null;
  available: boolean;
};

export type Session = {
  /** How people know the EMR: the name of its app, its own, or the server's host. */
  emr: string;
  product: string;
  /** Set if an operator configured the sign-in. */
  app: { logo: string | null } | null;
  organization: string;
  emr_host: string;
  /** Host and path. */
  emr_address: string;
  /** Set if nobody can sign in at this address. */
  problem: { code: string; host: string; reason: string } | null;
  access: { known: boolean; reads: string[]; writes: string[] };
  /** Null if there is a problem. */
  consent: { terms_id: string; required: boolean } | null;
  update: boolean;
  fields: Field[];
  ways: SignInMethod[];
  way: string | null;
  resend_code: boolean;
  code_digits: number | null;
  /** Where the sandbox EMR shows one-time codes. */
  codes_page: string | null;
  language: string | null;
  returns: boolean;
  /** Whether the person chooses the practice, and the choice. */
  finds_practice: boolean;
  practice: Practice | null;
  /** Since when the EMR of the account that is re-linked has not responded. */
  outage_since: string | null;
  client: { name: string; logo: string | null; colour: string | null };
};

export type Linked = { public_token: string | null; return_to: string | null };

export type PageState = { state: string; failure: string | null; message: string | null };

/** `code` is the service's error code, or `offline` if there was no response. */
export type ErrorResult = { code: string; message?: string };

/** Link's API for one link token, which is sent in a header and never in a URL. */
export function createService(token: string) {
  const call = <T>(path: string, body?: unknown) => request<T>(path, { 'link-token': token }, body);
  return {
    token,
    session: () => call<Session>('session'),
    findPractices: (query: string) => call<{ practices: Practice[] }>(`practices?query=${encodeURIComponent(query)}`),
    choosePractice: (practice_id: string) => call<object>('practice', { practice_id }),
    /** Records that the person agreed to the `text` on the page. */
    consent: (terms_id: string, language: string, text: string) =>
      call<object>('consent', { terms_id, language, text }),
    signIn: (credentials: Record<string, string>, one_time_code?: string) =>
      call<Linked>('sign-in', { credentials, ...(one_time_code === undefined ? {} : { one_time_code }) }),
    startPage: (credentials: unknown) => call<{ url: string; window: string }>('oauth/start', { credentials }),
    pageState: () => call<PageState>('oauth/state'),
  };
}

/** Sends what the EMR's page returned. */
export function finishPage(query: string, window: string, callback_id: string): Promise<object | ErrorResult> {
  return request<object>('oauth/finish', {}, { query, window, callback_id });
}

async function request<T>(path: string, headers: Record<string, string>, body?: unknown): Promise<T | ErrorResult> {
  try {
    const response = await fetch(new URL(path, import.meta.url), {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      credentials: 'omit',
      cache: 'no-store',
    });
    const data = await response.json();
    // The page and its endpoints are served by the same version.
    return response.ok ? (data as T) : { code: String(data.code ?? 'trouble'), message: String(data.message ?? '') };
  } catch {
    return { code: 'offline' };
  }
}

export function isError(result: object): result is ErrorResult {
  return 'code' in result;
}
