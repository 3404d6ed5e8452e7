import type { Outbound } from '../security/outbound.ts';

/** A log record of OTLP. */
export type OtlpLog = {
  at: Date;
  observed_at: Date;
  severity: 'warning' | 'info';
  event_name: string;
  body: string;
  attributes: Record<string, string | number | null>;
};

export type OtlpSource = { service_name: string; service_version: string; host: string; scope: string };

/** Why a collector did not take the records. */
export class CollectorRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CollectorRefusal';
  }
}

/** Numbers of the OpenTelemetry log data model. */
const severities = { warning: 13, info: 9 } as const;
const timeout_ms = 30_000;
const response_bytes_max = 100_000;

/** The JSON body of a request to an OTLP endpoint for logs. */
export function composeLogs(source: OtlpSource, logs: readonly OtlpLog[]): string {
  const resource = {
    'service.name': source.service_name,
    'service.version': source.service_version,
    'host.name': source.host,
  };
  const records = logs.map(({ at, observed_at, severity, event_name, body, attributes }) => ({
    timeUnixNano: toNanoseconds(at),
    observedTimeUnixNano: toNanoseconds(observed_at),
    severityNumber: severities[severity],
    severityText: severity === 'info' ? 'INFO' : 'WARN',
    eventName: event_name,
    body: { stringValue: body },
    attributes: toAttributes(attributes),
  }));
  const scope = { name: source.scope, version: source.service_version };
  return JSON.stringify({
    resourceLogs: [{ resource: { attributes: toAttributes(resource) }, scopeLogs: [{ scope, logRecords: records }] }],
  });
}

/**
 * Sends records, and resolves when the collector has accepted all of them. One that accepts only a part is a refusal:
 * audit records are not dropped, as OTLP suggests.
 */
export async function sendLogs(
  outbound: Outbound,
  { url, headers }: { url: string; headers: Record<string, string> },
  body: string,
  signal: AbortSignal,
): Promise<void> {
  const { host } = new URL(url);
  const response = await outbound.fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
    timeout_ms,
    signal,
    response_bytes_max,
  });
  if (response.status !== 200) throw new CollectorRefusal(`${host} responded with status ${response.status}.`);
  const rejected = countRejected(response.body.toString('utf8'));
  if (rejected > 0) throw new CollectorRefusal(`${host} rejected ${rejected} records.`);
}

/** An empty response, and one in another format, say that nothing was rejected. */
function countRejected(text: string): number {
  try {
    return Number(JSON.parse(text)?.partialSuccess?.rejectedLogRecords ?? 0) || 0;
  } catch {
    return 0;
  }
}

function toNanoseconds(at: Date): string {
  return `${at.getTime()}000000`;
}

function toAttributes(values: Record<string, string | number | null>) {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === null) return [];
    // 64-bit integers are texts in the JSON format.
    return [{ key, value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value } }];
  });
}
