import { StartFailure } from '../errors.ts';
import { parseUrl } from '../parseUrl.ts';
import { address, type Environment, isLoopback, number, type Setting } from './settingValues.ts';

/** Where alerts are sent by email. */
export type SmtpServer = {
  host: string;
  port: number;
  /** TLS from the first byte (smtps). */
  secure: boolean;
  /** STARTTLS is required. Only a server on this machine is used without TLS. */
  require_tls: boolean;
  auth: { user: string; pass: string } | undefined;
};

/** A period of each day, in minutes after local midnight. It ends on the next day if `to_min` is not after `from_min`. */
export type QuietHours = { from_min: number; to_min: number; timezone: string; text: string };

/** A time of each day, in minutes after local midnight. */
export type DailyTime = { at_min: number; timezone: string; text: string };

/** The settings of alerts, part of the settings catalogue. */
export const alert_settings = {
  ALERT_SMTP_URL: {
    description:
      'Mail server for alerts: smtps://user:password@host (port 465), or smtp://user:password@host (port 587) with STARTTLS, which is required unless the server is on this machine. The certificate must be valid. Percent-encode special characters in the password.',
    example: 'smtps://alerts%40example.org:secret@mail.example.org',
    default: 'none: no email',
    secret: true,
    parse: (value, env, name) => {
      if (!value) return undefined;
      requireTogether(env, name, ['ALERT_EMAIL_FROM', 'ALERT_EMAIL_TO']);
      return smtpServer(name, value);
    },
  } satisfies Setting<SmtpServer | undefined>,
  ALERT_EMAIL_FROM: {
    description: 'Sender of alert emails.',
    example: 'chartwire@example.org',
    default: 'none; required with ALERT_SMTP_URL',
    parse: (value, _env, name) => (value ? emailAddress(name, value) : undefined),
  } satisfies Setting<string | undefined>,
  ALERT_EMAIL_TO: {
    description: 'Recipients of alert emails: comma-separated addresses.',
    example: 'oncall@example.org,practice-support@example.org',
    default: 'none; required with ALERT_SMTP_URL',
    parse: (value, _env, name) =>
      (value ?? '')
        .split(',')
        .map((item) => item.trim())
        .filter((item) => item !== '')
        .map((item) => emailAddress(name, item)),
  } satisfies Setting<string[]>,
  ALERT_WEBHOOK_URL: {
    description:
      'URL that receives alerts as signed webhooks. The rules for webhook endpoints apply: https, and a public address unless OUTBOUND_ALLOW_WEBHOOKS lists the host.',
    example: 'https://oncall.example.org/chartwire',
    default: 'none: no webhook',
    secret: true,
    parse: (value, env, name) => {
      if (!value) return undefined;
      requireTogether(env, name, ['ALERT_WEBHOOK_SECRET']);
      return address(name, value, ['https:', 'http:']);
    },
  } satisfies Setting<string | undefined>,
  ALERT_WEBHOOK_SECRET: {
    description:
      'Secret that signs alert webhooks (Standard Webhooks): whsec_ and 24 to 64 random bytes as base64. Generate one with: echo "whsec_$(openssl rand -base64 32)"',
    example: 'whsec_<base64>',
    default: 'none; required with ALERT_WEBHOOK_URL',
    secret: true,
    parse: (value, _env, name) => (value ? webhookSecret(name, value) : undefined),
  } satisfies Setting<string | undefined>,
  ALERT_QUIET_HOURS: {
    description:
      'Daily period, with an IANA time zone (UTC if omitted), in which only critical alerts are sent. The others follow in one message afterwards.',
    example: '22:00-07:00 Europe/Berlin',
    default: 'none',
    parse: (value, _env, name) => (value ? quietHours(name, value) : undefined),
  } satisfies Setting<QuietHours | undefined>,
  ALERT_DIGEST: {
    description:
      'Time of day, with an IANA time zone (UTC if omitted), at which a summary of the open alerts is sent. No summary is sent if there are none.',
    example: '08:00 Europe/Berlin',
    default: 'off',
    parse: (value, _env, name) => (!value || value.toLowerCase() === 'off' ? undefined : dailyTime(name, value)),
  } satisfies Setting<DailyTime | undefined>,
  ALERT_PATIENTS_PER_HOUR: number(
    'Different patients that a client reads in an hour from which on an alert opens. 0: off.',
    100_000,
    0,
    1_000_000_000,
  ),
  ALERT_REVEALS_PER_HOUR: number(
    'Reveals of patient details by an operator within an hour from which on an alert opens. 0: off.',
    100,
    0,
    1_000_000,
  ),
  ALERT_EXPORTS_PER_HOUR: number(
    'Files that an operator, or the command line, exports within an hour from which on an alert opens. 0: off.',
    50,
    0,
    1_000_000,
  ),
  ALERT_REFUSED_SIGN_INS: number(
    'Refused sign-ins of operators within an hour from which on an alert opens. 0: off.',
    100,
    0,
    1_000_000,
  ),
  ALERT_REFUSED_CREDENTIALS: number(
    'API requests within an hour that were refused because of their credentials from which on an alert opens. 0: off. At most 5,000 per hour and process are counted.',
    1_000,
    0,
    5_000,
  ),
  ALERT_NEW_NETWORK_DAYS: number(
    'Opens an alert when an operator signs in from a network (/24, or /48 of IPv6) that the operator has not signed in from for this many days. 0: off.',
    0,
    0,
    365,
  ),
} as const;

function requireTogether(env: Environment, name: string, others: readonly string[]): void {
  const missing = others.find((other) => !env[other]?.trim());
  if (missing !== undefined) throw new StartFailure(`${name} is set, so ${missing} must be set too.`);
}

/** The value is not repeated in errors: it contains a password. Options in the URL are refused, not ignored. */
function smtpServer(name: string, value: string): SmtpServer {
  const url = parseUrl(address(name, value, ['smtp:', 'smtps:']));
  if (!url?.hostname || url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname)) {
    throw new StartFailure(`${name} must have the form smtps://user:password@host:port, without anything after it.`);
  }
  const secure = url.protocol === 'smtps:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  try {
    const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
    return {
      host,
      port: Number(url.port) || (secure ? 465 : 587),
      secure,
      require_tls: !secure && !isLoopback(host),
      auth: user === '' ? undefined : { user, pass },
    };
  } catch {
    throw new StartFailure(`${name} must have its user and password percent-encoded.`);
  }
}

/** One plain address. Names and comments, which could hide another recipient, are refused. */
function emailAddress(name: string, value: string): string {
  if (/^[^\s@<>()",;:\\[\]]+@[^\s@<>()",;:\\[\]]+$/.test(value)) return value;
  throw new StartFailure(`${name} must contain email addresses such as oncall@example.org, not '${value}'.`);
}

/** The value is not repeated in the error. */
function webhookSecret(name: string, value: string): string {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] ?? '';
  const { length } = Buffer.from(encoded, 'base64');
  if (length >= 24 && length <= 64) return value;
  throw new StartFailure(
    `${name} must be whsec_ and 24 to 64 bytes as base64. Generate one with: openssl rand -base64 32`,
  );
}

function quietHours(name: string, value: string): QuietHours {
  const [, from = '', to = '', zone = 'UTC'] = /^(\S+?)\s*-\s*(\S+)(?:\s+(\S+))?$/.exec(value) ?? [];
  const [from_min, to_min] = [parseMinute(from), parseMinute(to)];
  const timezone = parseTimezone(zone);
  if (from_min !== undefined && to_min !== undefined && from_min !== to_min && timezone !== undefined) {
    return { from_min, to_min, timezone, text: `${from}-${to} ${timezone}` };
  }
  throw new StartFailure(`${name} must have the form 22:00-07:00 Europe/Berlin, not '${value}'.`);
}

function dailyTime(name: string, value: string): DailyTime {
  const [time = '', zone = 'UTC', ...rest] = value.split(/\s+/);
  const at_min = parseMinute(time);
  const timezone = parseTimezone(zone);
  if (at_min !== undefined && timezone !== undefined && rest.length === 0) {
    return { at_min, timezone, text: `${time} ${timezone}` };
  }
  throw new StartFailure(`${name} must be off or have the form 08:00 Europe/Berlin, not '${value}'.`);
}

function parseMinute(time: string): number | undefined {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  return hour === undefined ? undefined : Number(hour) * 60 + Number(minute);
}

/** An IANA name as it is usually written; undefined for an unknown one. Offsets are refused: they have no summer time. */
function parseTimezone(name: string): string | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
