/** The pause before the next look at something awaited: longer each time, because looking keeps the machine busy. */
export function pollingPause(turn: number): number {
  return Math.min(20 * 1.6 ** turn, 300);
}
