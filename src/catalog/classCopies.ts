/**
 * Makes `instanceof` accept what another copy of the class created: a connector from outside has its own copy of the
 * modules that it imports. `name` must be the same in all copies. Subclasses are compared as usual.
 */
export function recognizeCopies(type: abstract new (...args: never[]) => Error, name: string): void {
  const mark = Symbol.for(`chartwire.${name}`);
  Object.defineProperty(type.prototype, mark, { value: true });
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this, value);
      return typeof value === 'object' && value !== null && mark in value;
    },
  });
}
