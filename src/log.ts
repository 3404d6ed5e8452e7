import { type Logger, pino } from 'pino';

/**
 * What may stand in a log line. Everything else is dropped, so that a careless call cannot write health data, a
 * credential or a token: errors are reduced to their name, code and place in our code, never their text.
 */
const allowed = new Set<string>([
  'endpoint',
  'status',
  'code',
  'duration_ms',
  'request_id',
  'client',
  'job_id',
  'job_type',
  'state',
  'attempt',
  'event_type',
  'delivery',
  'webhook_endpoint',
  'reason',
  'problem',
]);

export function openLog(level: string, destination?: { write(line: string): void }): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => {
          const kept: Record<string, unknown> = {};
          for (const [name, value] of Object.entries(fields)) {
            if (name === 'err') Object.assign(kept, errorFields(value));
            else if (allowed.has(name)) kept[name] = value;
          }
          return kept;
        },
      },
      // pino's own serializer would print the message and the whole stack.
      serializers: { err: (value: unknown) => value },
    },
    destination ?? pino.destination({ fd: 1, sync: false }),
  );
}

/** Frames of Node, of packages and of the database layer, which all statements pass through. */
const elsewhere = /node_modules|node:|\/sql\//;

/** The first line of a stack holds the message, which may quote data; the frames below it only name our code. */
function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { problem: typeof error };
  const frame = error.stack?.split('\n').find((line) => /^\s+at /.test(line) && !elsewhere.test(line));
  const code = (error as { code?: unknown }).code;
  return {
    problem: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(frame
      ? {
          where: frame
            .trim()
            .replace(/^at /, '')
            .replace(/\(?file:\/\/.*\/(dist|src)\//, '('),
        }
      : {}),
  };
}
