/** What an owner configured for the requests of an EMR app. */
export type RequestSettings = {
  /** The scopes to request, exactly as written; null: those that the server lists. */
  scope: string | null;
  /** Sent with every request to the EMR and to its token endpoint, such as an API key. */
  headers: Readonly<Record<string, string>>;
  /** Sent with every search. In an app, a blank value must be given by each practice. */
  search_params: SearchConstants;
  /** The group of all patients, which bulk exports read; null: all patients, or the only group that the EMR lists. */
  bulk_group: string | null;
  /** What the vendor's limit of requests is for: each address, or the app at all of its addresses together. */
  requests_counted_per: CountedPer;
};

export const counted_per = ['address', 'app'] as const;
export type CountedPer = (typeof counted_per)[number];

/** Those that are given. */
export type GivenSettings = { [Name in keyof RequestSettings]?: RequestSettings[Name] | undefined };

/** Search parameters that name a practice, where several practices share the address of an EMR. */
export type SearchConstants = Readonly<Record<string, string>>;

/** The parameters of a practice: its own, and those that the app has for all. A blank one is missing. */
export function practiceParams(app: SearchConstants, own: SearchConstants): SearchConstants {
  return { ...app, ...own };
}

/** The names of the parameters that the practice must give and did not. */
export function missingParams(app: SearchConstants, own: SearchConstants): string[] {
  return Object.entries(practiceParams(app, own))
    .filter(([, value]) => value === '')
    .map(([name]) => name);
}

/** The names of the parameters for which the practice gives another value than the one that the app has for all. */
export function replacedParams(app: SearchConstants, own: SearchConstants): string[] {
  return Object.keys(own).filter((name) => (app[name] ?? '') !== '' && app[name] !== own[name]);
}

export function sameParams(one: SearchConstants, other: SearchConstants): boolean {
  const text = (params: SearchConstants) => JSON.stringify(Object.entries(params).sort());
  return text(one) === text(other);
}
