import { Resources } from './generated/resources.gen.ts';
import { type Hooks, type ReceivedResponse, Transport } from './transport.ts';

export type ChartwireOptions = Hooks & {
  /** The URL of the service, such as `https://chartwire.example.org`. Default: `CHARTWIRE_BASE_URL`. */
  baseUrl?: string;
  /** Default: `CHARTWIRE_CLIENT_ID`. */
  clientId?: string;
  /** Default: `CHARTWIRE_CLIENT_SECRET`. */
  clientSecret?: string;
  /**
   * The access token of a linked account. Most requests need one; see also `forAccount`. Default, unless `clientId` is
   * given: `CHARTWIRE_ACCESS_TOKEN`.
   */
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
  readonly #options: ChartwireOptions & Credentials;
  readonly #transport: Transport;

  constructor(options: ChartwireOptions = {}) {
    const complete = addDefaults(options);
    const transport = new Transport(complete);
    super(transport);
    this.#options = complete;
    this.#transport = transport;
  }

  /** The newest response that this client has received. With several requests at once, use `readResponse(result)`. */
  get lastResponse(): ReceivedResponse | undefined {
    return this.#transport.lastResponse;
  }

  /** How Node prints a client: without secrets. */
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    const { baseUrl, clientId, accessToken } = this.#options;
    return `Chartwire { baseUrl: '${baseUrl}', clientId: '${clientId}', hasAccessToken: ${accessToken !== undefined} }`;
  }

  /** The same client for another linked account. */
  forAccount(accessToken: string): Chartwire {
    return new Chartwire({ ...this.#options, accessToken });
  }
}

type Credentials = { baseUrl: string; clientId: string; clientSecret: string };

const variables = {
  baseUrl: 'CHARTWIRE_BASE_URL',
  clientId: 'CHARTWIRE_CLIENT_ID',
  clientSecret: 'CHARTWIRE_CLIENT_SECRET',
} as const;

function addDefaults(options: ChartwireOptions): ChartwireOptions & Credentials {
  // Not in every runtime.
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  const env = process?.env ?? {};
  const read = (name: keyof Credentials) => {
    const value = options[name] || env[variables[name]];
    if (!value) throw new TypeError(`new Chartwire({ … }) needs ${name}, or the variable ${variables[name]}.`);
    return value;
  };
  const required = { baseUrl: read('baseUrl'), clientId: read('clientId'), clientSecret: read('clientSecret') };
  // The token of the environment belongs to the client of the environment.
  const accessToken = options.accessToken ?? (options.clientId ? undefined : env.CHARTWIRE_ACCESS_TOKEN || undefined);
  return { ...options, ...required, ...(accessToken !== undefined && { accessToken }) };
}
