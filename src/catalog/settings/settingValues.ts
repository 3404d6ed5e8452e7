import { isIP } from 'node:net';
import { StartFailure } from '../errors.ts';
import { parseNetwork } from '../networks.ts';
import { parseUrl } from '../parseUrl.ts';

/** A row of the settings catalogue. */
export type Setting<T> = {
  description: string;
  example: string;
  /** The default, as text for the reference page. */
  default: string;
  /** Gives access to something. The value can also come from a file or a systemd credential; see secretSources.ts. */
  secret?: true;
  parse: (value: string | undefined, env: Environment, name: string) => T;
};
export type Environment = Record<string, string | undefined>;

/** Values of OTEL_TRACES_SAMPLER, as OpenTelemetry defines them. */
export const sampler_names = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof sampler_names)[number];

export function text(description: string, fallback: string): Setting<string> {
  return { description, example: fallback, default: fallback, parse: (value) => value || fallback };
}

export function number(description: string, fallback: number, min: number, max: number): Setting<number> {
  return {
    description,
    example: String(fallback),
    default: String(fallback),
    parse: (value, _env, name) => {
      if (!value) return fallback;
      const parsed = /^\d+$/.test(value) ? Number(value) : Number.NaN;
      if (parsed >= min && parsed <= max) return parsed;
      throw new StartFailure(`${name} must be a whole number from ${min} to ${max}, not '${value}'.`);
    },
  };
}

/** One of a few words; the sandbox may have another default. */
export function choice<T extends string>(
  description: string,
  allowed: readonly T[],
  fallback: T,
  in_sandbox: T = fallback,
): Setting<T> {
  return {
    description,
    example: fallback,
    default: in_sandbox === fallback ? fallback : `${fallback}; ${in_sandbox} in the sandbox`,
    parse: (value, env, name) =>
      oneOf(name, value || (sandbox(env.SANDBOX?.trim(), env) ? in_sandbox : fallback), allowed),
  };
}

/** Off unless it is turned on. */
export function offOrOn(description: string): Setting<boolean> {
  const parse: Setting<boolean>['parse'] = (value, _env, name) => oneOf(name, value || 'off', ['on', 'off']) === 'on';
  return { description, example: 'off', default: 'off', parse };
}

export function sandbox(value: string | undefined, env: Environment): boolean {
  if (!value) return env.NODE_ENV !== 'production';
  return oneOf('SANDBOX', value, ['on', 'off']) === 'on';
}

export function oneOf<T extends string>(name: string, value: string, allowed: readonly T[]): T {
  const match = allowed.find((candidate) => candidate === value.toLowerCase());
  if (match !== undefined) return match;
  throw new StartFailure(`${name} must be one of ${allowed.join(', ')}, not '${value}'.`);
}

export function list(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((item) => item.trim().toLowerCase())
    .filter((item) => item !== '');
}

/** The values are not repeated in the error: they may be tokens. */
export function pairs(name: string, value: string | undefined): Record<string, string> {
  const items = (value ?? '').split(',').filter((item) => item.trim() !== '');
  const entries = items.map((item) => {
    const [, key = '', text = ''] = /^\s*([\w.-]+)\s*=\s*(.*?)\s*$/.exec(item) ?? [];
    try {
      if (key !== '') return [key, decodeURIComponent(text)];
    } catch {
      // Reported below.
    }
    throw new StartFailure(`${name} must be comma-separated name=value pairs with percent-encoded values.`);
  });
  return Object.fromEntries(entries);
}

export function share(name: string, value: string): number {
  const parsed = /^(\d+\.?\d*|\.\d+)$/.test(value) ? Number(value) : Number.NaN;
  if (parsed <= 1) return parsed;
  throw new StartFailure(`${name} must be a number from 0 to 1, not '${value}'.`);
}

export function networks(name: string, values: string[]): string[] {
  const invalid = values.find((value) => {
    const [address = '', bits, ...rest] = value.split('/');
    const bits_max = isIP(address) === 4 ? 32 : 128;
    return (
      !isIP(address) || rest.length > 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= bits_max))
    );
  });
  if (invalid === undefined) return values;
  throw new StartFailure(`${name} must be addresses or networks such as 10.0.0.0/8, not '${invalid}'.`);
}

/** Networks that limit access, in one spelling. */
export function allowedNetworks(name: string, values: string[]): string[] {
  return values.map((value) => {
    const parsed = parseNetwork(value);
    if ('network' in parsed) return parsed.network;
    throw new StartFailure(`${name} ${parsed.refused}; not '${value}'.`);
  });
}

export function address(name: string, value: string, protocols: string[]): string {
  if (protocols.includes(parseUrl(value)?.protocol ?? '')) return value;
  throw new StartFailure(`${name} must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}.`);
}

/** https, or http to this machine. */
export function privateAddress(name: string, value: string): string {
  const { protocol, hostname } = new URL(address(name, value, ['https:', 'http:']));
  if (protocol === 'https:' || isLoopback(hostname)) return value;
  throw new StartFailure(`${name} must use https, unless it is on this machine.`);
}

/** Host and port of `tcp://host:port`, without anything after it. */
export function tcpAddress(name: string, value: string, port: number): { host: string; port: number } {
  const url = parseUrl(address(name, value, ['tcp:']));
  const complete = url !== undefined && url.hostname !== '' && url.username === '' && url.password === '';
  if (complete && ['', '/'].includes(url.pathname) && url.search === '' && url.hash === '') {
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port) || port };
  }
  throw new StartFailure(`${name} must have the form tcp://host:port, without anything after it.`);
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || /^(127(\.\d+){3}|\[?::1\]?)$/.test(host);
}

/** The value is not repeated in the error: it contains a password. */
export function postgresAddress(name: string, value: string): string {
  return address(name, value, ['postgres:', 'postgresql:']);
}
