/**
 * Prints the ratio of two measurements: the median over several rounds. Absolute numbers from a busy machine are not
 * reliable, so the two alternate and are affected by the same load.
 */
export async function compare(
  name: string,
  measure: () => Promise<number>,
  baseline: { name: string; measure: () => Promise<number> },
  rounds = 5,
): Promise<number> {
  const ratios: number[] = [];
  await measure();
  await baseline.measure();
  for (let round = 0; round < rounds; round++) ratios.push((await measure()) / (await baseline.measure()));
  ratios.sort((a, b) => a - b);
  const median = ratios[Math.floor(rounds / 2)] ?? Number.NaN;
  const show = (n: number | undefined) => (n ?? Number.NaN).toFixed(2);
  const spread = `${show(ratios[0])} to ${show(ratios.at(-1))}`;
  process.stdout.write(`${name}: ${show(median)} × ${baseline.name} (median of ${rounds}, range ${spread})\n`);
  return median;
}
