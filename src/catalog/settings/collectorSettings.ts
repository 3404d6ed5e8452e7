import { resolve } from 'node:path';
import { StartFailure } from '../errors.ts';
import { parseUrl } from '../parseUrl.ts';
import { address, pairs, privateAddress, type Setting } from './settingValues.ts';

/** Where the audit log is sent, and by which protocol. */
export type CollectorAddress = { protocol: 'syslog' | 'otlp'; host: string; port: number; url: string };

const syslog_port = 6514;

/** The settings of the collector of the audit log, part of the settings catalogue. */
export const collector_settings = {
  AUDIT_COLLECTOR_URL: {
    description:
      'Collector to which every record of the audit log is sent within seconds, such as a SIEM: syslog+tls://host:port (RFC 5425, port 6514 if omitted) or the https:// URL of an OTLP endpoint for logs. The host may be private: only an operator can set it.',
    example: 'syslog+tls://siem.example.org:6514',
    default: 'none: the audit log is not sent',
    parse: (value, _env, name) => (value ? collectorAddress(name, value) : undefined),
  } satisfies Setting<CollectorAddress | undefined>,
  AUDIT_COLLECTOR_CA_FILE: {
    description:
      'File (PEM) with the certificates of the authorities that may have issued the certificate of the collector.',
    example: '/etc/chartwire/siem-ca.pem',
    default: 'the public authorities that Node trusts',
    parse: (value) => (value ? resolve(value) : undefined),
  } satisfies Setting<string | undefined>,
  AUDIT_COLLECTOR_CERT_FILE: {
    description: 'File (PEM) with the certificate by which the collector recognizes this service.',
    example: '/etc/chartwire/siem-client.pem',
    default: 'none',
    parse: (value, env, name) => oneOfPair(value, env.AUDIT_COLLECTOR_KEY_FILE, [name, 'AUDIT_COLLECTOR_KEY_FILE']),
  } satisfies Setting<string | undefined>,
  AUDIT_COLLECTOR_KEY_FILE: {
    description: 'File (PEM, without a passphrase) with the private key of AUDIT_COLLECTOR_CERT_FILE.',
    example: '/etc/chartwire/siem-client.key',
    default: 'none; required with AUDIT_COLLECTOR_CERT_FILE',
    parse: (value, env, name) => oneOfPair(value, env.AUDIT_COLLECTOR_CERT_FILE, [name, 'AUDIT_COLLECTOR_CERT_FILE']),
  } satisfies Setting<string | undefined>,
  AUDIT_COLLECTOR_HEADERS: {
    description:
      'Headers for an OTLP collector, usually a secret: comma-separated name=value pairs, with percent-encoded values.',
    example: 'authorization=Bearer%20<token>',
    default: 'none',
    secret: true,
    parse: (value, env, name) => {
      const headers = pairs(name, value);
      if (Object.keys(headers).length === 0 || /^https?:/.test(env.AUDIT_COLLECTOR_URL?.trim() ?? '')) return headers;
      throw new StartFailure(`${name} is set, so AUDIT_COLLECTOR_URL must be the URL of an OTLP collector.`);
    },
  } satisfies Setting<Record<string, string>>,
} as const;

/** The value is not repeated in errors: it may contain a password, which belongs into AUDIT_COLLECTOR_HEADERS. */
function collectorAddress(name: string, value: string): CollectorAddress {
  const url = parseUrl(address(name, value, ['syslog+tls:', 'https:', 'http:']));
  const syslog = url?.protocol === 'syslog+tls:';
  const complete = url !== undefined && url.hostname !== '' && url.username === '' && url.password === '';
  if (!complete || url.hash !== '') {
    throw new StartFailure(
      `${name} must have the form syslog+tls://host:port or https://host/v1/logs, without a user.`,
    );
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (!syslog) {
    const { protocol } = new URL(privateAddress(name, value));
    return { protocol: 'otlp', host, port: Number(url.port) || (protocol === 'https:' ? 443 : 80), url: value };
  }
  if (!['', '/'].includes(url.pathname) || url.search !== '') {
    throw new StartFailure(`${name} must have the form syslog+tls://host:port, without anything after it.`);
  }
  return { protocol: 'syslog', host, port: Number(url.port) || syslog_port, url: value };
}

function oneOfPair(
  value: string | undefined,
  other: string | undefined,
  [name, other_name]: readonly [string, string],
): string | undefined {
  if (!value) return undefined;
  if (other?.trim()) return resolve(value);
  throw new StartFailure(`${name} is set, so ${other_name} must be set too.`);
}
