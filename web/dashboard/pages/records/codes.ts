/** A code of the EMR with what it stands for. */
export type Code = { code: string; description: string };

/** The description with its code, by which staff know it, unless that says the same. */
export function describeCode(code: string, codes: readonly Code[]): string {
  return withCode(codes.find((each) => each.code === code)?.description ?? code, code);
}

export function withCode(description: string, code: string): string {
  return description.toLowerCase() === code.toLowerCase() ? description : `${description} (${code})`;
}
