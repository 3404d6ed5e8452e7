/** The time ranges of the charts, with their number of bars. */
export const ranges = {
  '1h': { bins: 60, bin_s: 60, label: '1 hour' },
  '24h': { bins: 48, bin_s: 1800, label: '24 hours' },
  '7d': { bins: 56, bin_s: 10_800, label: '7 days' },
} as const;
export type Range = keyof typeof ranges;
