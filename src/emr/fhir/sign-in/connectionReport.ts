import { parseUrl } from '../../../catalog/parseUrl.ts';
import { OutboundFailure, type OutboundRequest, type OutboundResponse } from '../../../platform/security/outbound.ts';
import type { EmrEndpoint, ReportStep } from '../../connector.ts';

/** Steps of an earlier part of the same sign-in, kept while the person is on the EMR's page. */
export function collectSteps(
  endpoint: EmrEndpoint,
  earlier = '[]',
): { endpoint: EmrEndpoint; steps: () => string; add: (step: ReportStep) => void } {
  const steps: ReportStep[] = [];
  const add = (step: ReportStep) => {
    steps.push(step);
    endpoint.record?.(step);
  };
  // Written by `steps` from values of this type.
  for (const step of JSON.parse(earlier) as ReportStep[]) add(step);
  return { endpoint: recordRequests({ ...endpoint, record: add }), steps: () => JSON.stringify(steps), add };
}

/**
 * The same endpoint, with every request recorded for the connection report: what was requested, never a token, a secret
 * or a value that could identify a patient.
 */
export function recordRequests(endpoint: EmrEndpoint): EmrEndpoint {
  const { record, outbound } = endpoint;
  if (!record) return endpoint;
  const fetch = async (url: string | URL, request: OutboundRequest) => {
    const stage = findStage(url, request);
    const started = performance.now();
    const add = (result: Pick<ReportStep, 'status' | 'outcome'>, notes: (string | undefined)[]) => {
      const note = notes.filter((each) => each !== undefined).join('. ');
      record({
        stage,
        request: `${request.method} ${describeUrl(endpoint, url, stage)}`,
        ...result,
        duration_ms: Math.round(performance.now() - started),
        ...(note !== '' && { note }),
      });
    };
    const sent = stage === 'sign_in' ? describeTokenRequest(request) : undefined;
    try {
      const response = await outbound.fetch(url, request);
      const { status } = response;
      const outcome = status < 400 ? 'ok' : status < 500 ? 'refused' : 'failed';
      add({ status, outcome }, [sent, stage === 'sign_in' ? describeTokenResponse(request, response) : undefined]);
      return response;
    } catch (error) {
      add({ status: null, outcome: 'failed' }, [sent, error instanceof OutboundFailure ? error.message : undefined]);
      throw error;
    }
  };
  return { ...endpoint, outbound: { ...outbound, fetch }, record: undefined };
}

function findStage(url: string | URL, { body }: OutboundRequest): ReportStep['stage'] {
  if (typeof body === 'string' && new URLSearchParams(body).has('grant_type')) return 'sign_in';
  return /\/(\.well-known\/[^?]*|metadata)(\?|$)/.test(String(url)) ? 'discovery' : 'probe';
}

/** Parameters whose values say nothing about a patient. All other values are left out. */
const harmless_parameters = new Set(['_count', '_sort', '_summary', '_total', '_elements', '_format', '_include']);

function describeUrl({ address }: EmrEndpoint, to: string | URL, stage: ReportStep['stage']): string {
  const url = parseUrl(String(to));
  if (!url) return '[not a URL]';
  const base = address.replace(/\/$/, '');
  const whole = url.origin + url.pathname;
  const short = whole.startsWith(`${base}/`) ? `[base]${whole.slice(base.length)}` : whole;
  if (stage !== 'probe') return short;
  const path = short
    .split('/')
    .map((part, at, all) => (/^[A-Z][A-Za-z]+$/.test(all[at - 1] ?? '') && !/^[_$]/.test(part) ? '[id]' : part))
    .join('/');
  const query = [...url.searchParams].map(
    ([name, value]) => `${name}=${harmless_parameters.has(name) ? value : '[value]'}`,
  );
  return query.length > 0 ? `${path}?${query.join('&')}` : path;
}

function describeTokenRequest({ headers = {}, body }: OutboundRequest): string {
  const form = new URLSearchParams(String(body));
  const authentication = form.has('client_assertion')
    ? 'private_key_jwt'
    : form.has('client_secret')
      ? 'client_secret_post'
      : headers.authorization
        ? 'client_secret_basic'
        : 'no client authentication';
  const scope = form.get('scope');
  return `${form.get('grant_type')}, ${authentication}${scope === null ? '' : `. Scopes requested: ${scope}`}`;
}

/** The granted scopes, or the error. Anything else in a response may be secret. */
function describeTokenResponse(request: OutboundRequest, { body }: OutboundResponse): string | undefined {
  let json: { error?: unknown; error_description?: unknown; scope?: unknown };
  try {
    json = Object(JSON.parse(body.toString()));
  } catch {
    return undefined;
  }
  const { error, error_description, scope } = json;
  if (typeof error === 'string') return [error, error_description].flatMap((text) => quote(text, request)).join(': ');
  return typeof scope === 'string' ? `Scopes granted: ${scope.slice(0, text_length_max)}` : undefined;
}

const text_length_max = 2000;

/** A text of the server, unless it repeats something that was sent as a credential. */
function quote(text: unknown, request: OutboundRequest): string[] {
  if (typeof text !== 'string' || findSecrets(request).some((secret) => text.includes(secret))) return [];
  return [
    text
      .replace(/[\p{Cc}\s]+/gu, ' ')
      .trim()
      .slice(0, 300),
  ];
}

function findSecrets({ headers = {}, body }: OutboundRequest): string[] {
  const form = new URLSearchParams(String(body));
  const names = ['client_secret', 'client_assertion', 'code', 'code_verifier', 'refresh_token'];
  const basic = Buffer.from(headers.authorization?.split(' ')[1] ?? '', 'base64').toString();
  const secret = decodeURIComponent((basic.split(':')[1] ?? '').replaceAll('+', ' '));
  return [...names.map((name) => form.get(name) ?? ''), secret].filter((each) => each !== '');
}
