/** The exit codes of the program. docs/guides/command-line.md explains them. */
export const exit_codes = { error: 1, usage: 2, job_failed: 3, unreachable: 4, credentials: 5 } as const;

/** An error of a command: one sentence or two with the cause and the remedy, and the exit code. */
export class CommandFailure extends Error {
  readonly exit: keyof typeof exit_codes;

  constructor(message: string, exit: keyof typeof exit_codes = 'error', options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'CommandFailure';
    this.exit = exit;
  }
}
