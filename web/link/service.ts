export type Field = {
  name: string;
  label: string;
  secret: boolean;
  autocomplete: string;
  known: boolean;
  value: string | null;
};

export type Session = {
  emr: string;
  organisation: string;
  emr_host: string;
  update: boolean;
  fields: Field[];
  resend_code: boolean;
  language: string | null;
  returns: boolean;
  client: { name: string; logo: string | null; colour: string | null };
};

export type Linked = { public_token: string | null; return_to: string | null };

/** `code` is the service's own, or `offline` when nothing answered. */
export type Refused = { code: string };

/** The service, as the person with this link token may ask it. The token travels in a header, never in an address. */
export function openService(token: string) {
  const ask = async <T>(path: string, body?: unknown): Promise<T | Refused> => {
    try {
      const answer = await fetch(new URL(path, import.meta.url), {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'link-token': token, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        credentials: 'omit',
        cache: 'no-store',
      });
      const told = await answer.json();
      // The page and its endpoints are served together, so what the service says has this shape.
      return answer.ok ? (told as T) : { code: String(told.code ?? 'trouble') };
    } catch {
      return { code: 'offline' };
    }
  };
  return {
    session: () => ask<Session>('session'),
    signIn: (credentials: Record<string, string>, one_time_code?: string) =>
      ask<Linked>('sign-in', { credentials, ...(one_time_code === undefined ? {} : { one_time_code }) }),
  };
}

export function isRefused(answer: object): answer is Refused {
  return 'code' in answer;
}
