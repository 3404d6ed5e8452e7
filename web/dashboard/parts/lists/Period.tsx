import { Select } from '@mantine/core';
import { useMemo } from 'react';
import { useUrlFilters } from '../../service/useUrlFilters.ts';
import { TimestampInput } from '../Timestamp.tsx';

const hour_ms = 3_600_000;
const periods: Record<string, { label: string; ms: number }> = {
  '1h': { label: 'Last hour', ms: hour_ms },
  '24h': { label: 'Last 24 hours', ms: 24 * hour_ms },
  '7d': { label: 'Last 7 days', ms: 7 * 24 * hour_ms },
  '30d': { label: 'Last 30 days', ms: 30 * 24 * hour_ms },
};

/** The chosen period as the filters `from` and `to`. A preset in the URL stays relative, so that a bookmark stays useful. */
export function usePeriod(from: string, to: string): Record<string, string> {
  const { get } = useUrlFilters();
  const preset = get('period');
  // Computed once per choice: every other time would be another query.
  const start = useMemo(() => {
    const { ms } = periods[preset] ?? {};
    return ms === undefined ? undefined : new Date(Date.now() - ms).toISOString();
  }, [preset]);
  return start === undefined ? { [from]: get(from), [to]: get(to) } : { [from]: start, [to]: '' };
}

/** 1 if a period is chosen, for the number of used filters. */
export function countPeriod(period: Record<string, string>): number {
  return Object.values(period).some((time) => time !== '') ? 1 : 0;
}

/** A choice of presets; `Custom` shows two inputs, whose values are in the URL under these names. */
export function PeriodFilter({ from, to }: { from: string; to: string }) {
  const { get, set, setAll } = useUrlFilters();
  const custom = get('period') === 'custom' || get(from) !== '' || get(to) !== '';
  const value = custom ? 'custom' : get('period') || null;
  return (
    <>
      <Select
        label="Time"
        placeholder="Any time"
        clearable
        w={135}
        data={[
          ...Object.entries(periods).map(([period, { label }]) => ({ value: period, label })),
          { value: 'custom', label: 'Custom' },
        ]}
        value={value}
        onChange={(period) => setAll({ period: period ?? '', [from]: '', [to]: '' })}
      />
      {custom && (
        <>
          <TimestampInput label="From" value={get(from)} onChange={(time) => set(from, time)} />
          <TimestampInput label="To" value={get(to)} onChange={(time) => set(to, time)} />
        </>
      )}
    </>
  );
}
