/** A deterministic random generator, so that the seed is the same on every installation. */
export interface Chance {
  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number;
  pick<T>(list: readonly [T, ...T[]]): T;
  /** Picks `count` different elements. */
  sample<T>(list: readonly T[], count: number): T[];
  happens(probability: number): boolean;
}

export function seededChance(seed: number): Chance {
  const next = mulberry32(seed);
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    pick: (list) => list[below(list.length)] ?? list[0],
    sample: (list, count) => {
      const rest = [...list];
      return Array.from({ length: Math.min(count, list.length) }, () => rest.splice(below(rest.length), 1)).flat();
    },
    happens: (probability) => next() < probability,
  };
}

/** A public-domain 32-bit generator. Good enough for names and dates; not suitable for secrets. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
