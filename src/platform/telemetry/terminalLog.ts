import { isColorSupported, prettyFactory } from 'pino-pretty';

type Line = Record<string, unknown> & { msg?: string };

/** Formatted separately, or of no use to a person at a terminal. */
const hidden = new Set(['level', 'time', 'msg', 'client', 'trace_id', 'span_id']);

/**
 * A destination for the log that a person reads: one line per request, job or webhook. Requests that only read and
 * succeeded are left out, because a dashboard page alone sends one per second. `read_endpoints`: the ids of endpoints
 * that only read, whatever their method.
 */
export function terminalLog(
  output: { write(text: string): unknown },
  read_endpoints: ReadonlySet<string>,
): { write(line: string): void } {
  const format = prettyFactory({
    colorize: isColorSupported,
    translateTime: 'SYS:HH:MM:ss',
    hideObject: true,
    messageFormat: (line) => formatLine(line as Line),
  });
  return {
    write: (text) => {
      const line: Line = JSON.parse(text);
      if (!isQuiet(line, read_endpoints)) output.write(format(line));
    },
  };
}

function isQuiet({ msg, method, endpoint, status }: Line, read_endpoints: ReadonlySet<string>): boolean {
  const reads = method === 'GET' || method === 'HEAD' || read_endpoints.has(String(endpoint));
  return msg === 'request' && reads && Number(status) < 400;
}

function formatLine(line: Line): string {
  const { msg = '', method, endpoint, status, duration_ms, ...rest } = line;
  if (msg !== 'request') return [msg, ...facts(line)].join('  ');
  return [`${method} ${endpoint}  ${status}  ${duration_ms} ms`, ...facts(rest)].join('  ');
}

/** `job_id=7`. Control characters, which could change the terminal, are removed. */
function facts(fields: Line): string[] {
  return Object.entries(fields)
    .filter(([name, value]) => !hidden.has(name) && value !== '')
    .map(([name, value]) => `${name}=${String(value).replace(/\p{Cc}/gu, ' ')}`);
}
