import { InvalidArgumentError } from 'commander';

/** Reads an option that is a number of records or seconds. */
export function readCount(text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new InvalidArgumentError('It must be a number from 1 to 10000.');
}
