/** Letters of other scripts, which no rule about names changes, and surrogates. */
const ideographs = [
  [0x3400, 0x9fff],
  [0xac00, 0xf8ff],
] as const;

/** A name for each character of the basic plane: the character in the middle, twice in a row, and at the end. */
export function namesOfAllCharacters(): string[] {
  const names: string[] = [];
  for (let code = 1; code <= 0xffff; code += 1) {
    const character = String.fromCodePoint(code);
    if (ideographs.some(([from, to]) => code >= from && code <= to)) continue;
    names.push(`A${character}b ${character}${character}- C${character}`);
  }
  return names;
}
