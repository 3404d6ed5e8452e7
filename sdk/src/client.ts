import { Resources } from './generated/resources.gen.ts';
import { Transport } from './transport.ts';

export type ChartwireOptions = {
  /** The URL of the service, such as `https://chartwire.example.org`. */
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** The access token of a linked account. Most requests need one; see also `forAccount`. */
  accessToken?: string;
  /** How long a request may take, including its retries. Default: 60 seconds. */
  timeoutMs?: number;
  /** How often a request is sent again after 429, 502, 503 or a network error. Default: 4. */
  retriesMax?: number;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch;
};

/** A client of one Chartwire service. It runs on servers only: a browser must never see the client secret. */
export class Chartwire extends Resources {
  readonly #options: ChartwireOptions;

  constructor(options: ChartwireOptions) {
    for (const name of ['baseUrl', 'clientId', 'clientSecret'] as const) {
      if (!options[name]) throw new TypeError(`new Chartwire({ … }) needs ${name}.`);
    }
    super(new Transport(options));
    this.#options = options;
  }

  /** The same client for another linked account. */
  forAccount(accessToken: string): Chartwire {
    return new Chartwire({ ...this.#options, accessToken });
  }
}
