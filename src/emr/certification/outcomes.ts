/** The rule is not met. The message contains no value of a record. */
export class CheckFailed extends Error {}

/** The check cannot run here, or only by doing harm. `not_supported`: the EMR lacks the operation. */
export class CheckSkipped extends Error {
  readonly not_supported: boolean;

  constructor(message: string, not_supported = false) {
    super(message);
    this.not_supported = not_supported;
  }
}

export function fail(message: string): never {
  throw new CheckFailed(message);
}

export function skip(message: string): never {
  throw new CheckSkipped(message);
}

export function skipUnsupported(operation: string): never {
  throw new CheckSkipped(`the EMR does not support ${operation}`, true);
}

/** Only the name of a foreign error: its message may contain values that must not be printed. */
export function errorName(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}
