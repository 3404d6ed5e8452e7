import {
  type Access,
  Compile,
  type Credentials,
  createGrantStore,
  type EmrEndpoint,
  EmrFailure,
  type FailureCode,
  parseResponse,
  type ResponseKind,
  type SignIn,
  sendRequest,
  Type,
  tooBusy,
} from '@chartwire/connector';

const emr = 'Example EMR';
const timeout_ms = 10_000;
export const unreadable = `${emr} sent a response that cannot be read.`;

/** A compiled schema. Whatever the EMR sends is checked before it is used. */
export type Shape<Body> = { Check(value: unknown): value is Body };

type Request<Body> = {
  method: 'GET' | 'POST';
  path: string;
  body?: Record<string, unknown>;
  shape: Shape<Body>;
  /** What the response contains, which limits its size. Default: `record`. */
  returns?: ResponseKind;
  /** Whether it changes something. Whether a write arrived is then unknown if its response is lost. */
  writes?: boolean;
};

/** Sends a request in the session of the account. With `optional`, a record that does not exist is undefined. */
export type Send = {
  <Body>(request: Request<Body> & { optional: true }): Promise<Body | undefined>;
  <Body>(request: Request<Body>): Promise<Body>;
};

/** Opens a session when the first request needs one, and again whenever it has expired. */
export function openSession(endpoint: EmrEndpoint, access: Access): Send {
  // The store makes sure that only one of several processes renews the session, and saves it for all.
  const grants = createGrantStore(endpoint, access, async (_expired, signal) => {
    const signed_in = await signIn({ ...endpoint, signal }, access.credentials);
    if (signed_in.outcome === 'signed_in') return signed_in.grant;
    throw new EmrFailure('login_required', `${emr} no longer accepts the username and password.`);
  });
  async function send<Body>(request: Request<Body> & { optional?: true }) {
    const used = grants.current();
    let reply = await call(endpoint, request, used.token);
    if ('code' in reply && reply.code === 'session_expired') {
      // The EMR did nothing, so that the request can be repeated, also if it is a write.
      await grants.renew(used);
      reply = await call(endpoint, request, grants.current().token);
    }
    if ('body' in reply) return reply.body;
    if (!request.optional) throw reply.failure;
    if (reply.code === 'not_found') return undefined;
    // Anything else does not tell whether the record exists.
    throw new EmrFailure('unavailable', reply.failure.message);
  }
  return send as Send;
}

export async function signIn(endpoint: EmrEndpoint, { username, password }: Credentials): Promise<SignIn> {
  const { timezone } = await checkProduct(endpoint);
  const reply = await call(endpoint, {
    method: 'POST',
    path: '/api/sign-in',
    body: { username, password },
    shape: signedIn,
    returns: 'sign_in',
  });
  if ('body' in reply) {
    const { token, userId, userName } = reply.body;
    return { outcome: 'signed_in', grant: { token }, user: { ehr_id: userId, name: userName }, timezone };
  }
  if (reply.code === 'wrong_password') return { outcome: 'refused', reason: 'credentials' };
  throw reply.failure;
}

/** Ends the session. One that has expired has ended already. */
export async function signOut(endpoint: EmrEndpoint, { grant }: Pick<Access, 'grant'>): Promise<boolean> {
  const reply = await call(endpoint, { method: 'POST', path: '/api/sign-out', shape: signedOut }, grant.token);
  if ('failure' in reply && reply.code !== 'session_expired') throw reply.failure;
  return true;
}

/** The password must not be sent to any other software. */
export async function checkProduct(endpoint: EmrEndpoint): Promise<{ timezone: string }> {
  const reply = await call(endpoint, { method: 'GET', path: '/api/practice', shape: practice, returns: 'sign_in' });
  if ('body' in reply) return { timezone: reply.body.timeZone };
  throw new EmrFailure('refused', `This address is not an ${emr}.`, { wrong_address: true });
}

/** A path with its parameters encoded. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

type Reply<Body> = { body: Body } | { code: string; failure: EmrFailure };

/** Sends one request. Throws if the EMR cannot be reached, is overloaded, or sends something unreadable. */
async function call<Body>(endpoint: EmrEndpoint, request: Request<Body>, token?: string): Promise<Reply<Body>> {
  const { method, body, shape, returns = 'record', writes = false } = request;
  const kind_if_sent = writes ? 'unknown_outcome' : 'unavailable';
  const response = await sendRequest(endpoint, endpoint.address.replace(/\/$/, '') + request.path, {
    emr,
    method,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: body && JSON.stringify(body),
    timeout_ms,
    returns,
    kind_if_sent,
  });
  const { status } = response;
  if (status === 429 || status === 503) throw tooBusy(emr, response);
  if (status >= 500) throw new EmrFailure(kind_if_sent, `${emr} responded with an error (${status}).`);
  const parsed = await parseResponse(response, returns);
  const json = parsed && 'json' in parsed ? parsed.json : undefined;
  if (status < 300 && shape.Check(json)) return { body: json };
  if (status >= 400 && rejection.Check(json)) {
    const kind = status === 404 ? 'not_found' : 'refused';
    const code = failure_codes.get(json.code) ?? (kind === 'not_found' ? 'record_not_found' : 'emr_refused');
    return { code: json.code, failure: new EmrFailure(kind, json.message, { code }) };
  }
  // Also a 404 that is not in the EMR's format: a proxy's error page does not mean that there is no such record.
  throw new EmrFailure(kind_if_sent, unreadable);
}

/** What the EMR's codes mean in Chartwire's failure catalog. */
const failure_codes = new Map<string, FailureCode>([
  ['patient_not_found', 'patient_not_found'],
  ['unknown_location', 'record_not_found'],
  ['invalid', 'emr_validation'],
]);

const text = Type.String({ minLength: 1 });
const practice = Compile(Type.Object({ product: Type.Literal('example-emr'), timeZone: text }));
const signedIn = Compile(Type.Object({ token: text, userId: text, userName: text }));
const signedOut = Compile(Type.Object({ signedOut: Type.Literal(true) }));
const rejection = Compile(Type.Object({ code: text, message: Type.String({ minLength: 1, maxLength: 500 }) }));
