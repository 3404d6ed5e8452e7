/**
 * How one measurement stands to another, as the median of ratios within one run: absolute numbers of a noisy machine say
 * little. Rounds alternate, so that both sides see the same noise.
 */
export async function compare(
  what: string,
  ours: () => Promise<number>,
  others: { called: string; measure: () => Promise<number> },
  rounds = 5,
): Promise<number> {
  const ratios: number[] = [];
  await ours();
  await others.measure();
  for (let round = 0; round < rounds; round++) ratios.push((await ours()) / (await others.measure()));
  ratios.sort((a, b) => a - b);
  const median = ratios[Math.floor(rounds / 2)] ?? Number.NaN;
  const show = (n: number | undefined) => (n ?? Number.NaN).toFixed(2);
  const spread = `${show(ratios[0])} to ${show(ratios.at(-1))}`;
  process.stdout.write(`${what}: ${show(median)} of ${others.called} (median of ${rounds}; ${spread})\n`);
  return median;
}
