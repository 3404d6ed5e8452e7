import { type Logger, pino } from 'pino';

/**
 * The fields a log line may contain. All others are dropped, so that a careless call cannot log health data or secrets.
 * Errors are reduced to their name, code and position in our code; their message is not logged.
 */
const allowed = new Set<string>([
  'endpoint',
  'method',
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
  'record_kind',
  'problem',
  'trace_id',
  'span_id',
]);

/** `traceFields` returns the ids of the active span, for every line. */
export function createLog(
  level: string,
  destination?: { write(line: string): void },
  traceFields?: () => Record<string, string>,
): Logger {
  return pino(
    {
      level,
      ...(traceFields && { mixin: traceFields }),
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => {
          const line: Record<string, unknown> = {};
          for (const [name, value] of Object.entries(fields)) {
            if (name === 'err') Object.assign(line, errorFields(value));
            else if (allowed.has(name)) line[name] = value;
          }
          return line;
        },
      },
      // pino's default serializer would log the message and the whole stack.
      serializers: { err: (value: unknown) => value },
    },
    destination ?? pino.destination({ fd: 1, sync: false }),
  );
}

/** What the machine or the database server ran out of, by error code: the code alone does not help an operator. */
const explanations: Record<string, string> = {
  '25006': 'The database server allows no writes.',
  '53100': 'The disk of the database server is full.',
  '53200': 'The database server is out of memory.',
  '53300': 'The database server accepts no more connections. Raise max_connections or lower DATABASE_POOL.',
  '58030': 'The database server cannot read or write its files.',
  EMFILE: 'The process has no free file descriptors. Raise its limit of open files.',
  ENFILE: 'The machine has no free file descriptors.',
  ENOSPC: 'The disk of the data folder is full.',
  EROFS: 'The disk of the data folder is read-only.',
};

/** Frames of Node, of packages and of the database layer, which all statements pass through. */
const foreign_frame = /node_modules|node:|\/sql\//;

/** The first line of a stack is the message, which may quote data. The frames only name our code. */
function errorFields(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { problem: typeof error };
  const frame = error.stack?.split('\n').find((line) => /^\s+at /.test(line) && !foreign_frame.test(line));
  const code = (error as { code?: unknown }).code;
  return {
    problem: error.name,
    ...(typeof code === 'string' ? { code, cause: explanations[code] } : {}),
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
