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
  client: Client;
  expires_at: string;
  /** The link can be opened in another browser, and its success still reaches the application. */
  resumable: boolean;
};

export type Client = { name: string; logo: string | null; colour: string | null };

export type Linked = {
  public_token: string | null;
  return_to: string | null;
  /** What opens the practice page of the account: the pass works once. */
  practice: { account_id: string; pass: string };
};

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

/** What the practice page shows. Times are ISO 8601. */
export type LinkedAccount = {
  client: Client;
  account_id: string;
  status: 'active' | 'login_required' | 'revoked';
  organization: string;
  emr: string;
  emr_address: string;
  emr_user: string;
  linked_at: string;
  unlinked_at: string | null;
  used_at: string | null;
  read_at: string | null;
  records: Counted[];
  counted_days: number;
  written: Counted[];
  writes: { subject: string; requested_at: string; state: string }[];
};
export type Counted = { subject: string; count: number };

export type PracticeEntry = { state: 'sign_in' | 'unlinked' | 'no_sign_in'; token: string | null };

const practice_path = '../../practice/v1/';

export function redeemPass(pass: string): Promise<{ session: string } | ErrorResult> {
  return request<{ session: string }>(`${practice_path}session`, {}, { pass });
}

export function startPracticeEntry(account: string): Promise<PracticeEntry | ErrorResult> {
  return request<PracticeEntry>(`${practice_path}entry`, {}, { account });
}

/** The practice page's API for one session, which is sent in a header as the link token is: no cookie is set. */
export function createPracticeService(session: string) {
  const call = <T>(path: string, body?: unknown) =>
    request<T>(practice_path + path, { 'practice-session': session }, body);
  return {
    account: () => call<LinkedAccount>('account'),
    unlink: () => call<object>('unlink', {}),
    signOut: () => call<object>('sign-out', {}),
  };
}

/** Link's API for a sign-in that opens the practice page. `started` gets the session. */
export function createEntryService(
  token: string,
  started: (session: string) => void,
): ReturnType<typeof createService> {
  const headers = { 'link-token': token };
  return {
    ...createService(token),
    session: () => request<Session>(`${practice_path}sign-in`, headers),
    signIn: async (credentials, one_time_code) => {
      const body = { credentials, ...(one_time_code === undefined ? {} : { one_time_code }) };
      const result = await request<{ session: string }>(`${practice_path}sign-in`, headers, body);
      if (isError(result)) return result;
      started(result.session);
      return { public_token: null, return_to: null, practice: { account_id: '', pass: '' } };
    },
  };
}

/** The hosted page of a link. The token is in the fragment, which browsers do not send. */
export function hostedLink(token: string): string {
  const url = new URL(/* @vite-ignore */ '../../link', import.meta.url);
  url.hash = `token=${token}`;
  return url.href;
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
