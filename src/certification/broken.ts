/** The promise is not kept; the text says what happened instead, without a value of a record. */
export class Broken extends Error {}

/** It cannot be tried here, or not without doing harm. */
export class NotTried extends Error {}

export function broken(what: string): never {
  throw new Broken(what);
}

export function notTried(why: string): never {
  throw new NotTried(why);
}
