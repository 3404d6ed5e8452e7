import { Text } from '@mantine/core';
import type { ResponseOf } from '../../service/api.ts';

type Hour = ResponseOf<'webhooks.get'>['hours'][number];

const height = 64;
const clock = new Intl.DateTimeFormat(undefined, { hour: 'numeric' });

/** The attempts of the last 24 hours by hour, with a base line and the time below every sixth bar. */
export function EndpointHours({ hours }: { hours: readonly Hour[] }) {
  const total = (name: 'delivered' | 'failed') => hours.reduce((sum, hour) => sum + hour[name], 0);
  const [delivered, failed] = [total('delivered'), total('failed')];
  if (delivered + failed === 0) {
    return (
      <Text size="sm" c="dimmed" mb="md">
        No attempts in the last 24 hours.
      </Text>
    );
  }
  return (
    <figure className="hours">
      <figcaption className="secondary">{describeTotals(delivered, failed)}</figcaption>
      <div aria-hidden="true">
        <Bars hours={hours} />
        <div className="hours-axis">
          {[0, 6, 12, 18].map((n) => (
            <span key={n}>
              <span>{formatHour(hours[n])}</span>
              {n === 18 && <span>Now</span>}
            </span>
          ))}
        </div>
      </div>
    </figure>
  );
}

function Bars({ hours }: { hours: readonly Hour[] }) {
  const highest = Math.max(...hours.map(({ delivered, failed }) => delivered + failed));
  return (
    <svg
      viewBox={`0 0 ${hours.length * 10} ${height}`}
      width="100%"
      height={height}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {hours.map((hour, n) => {
        const { at, delivered, failed } = hour;
        const [good, bad] = [(height * delivered) / highest, (height * failed) / highest];
        return (
          <g key={at}>
            <title>{`${formatHour(hour)}: ${describeTotals(delivered, failed)}`}</title>
            {/* The whole column shows the title. */}
            <rect x={n * 10} width={10} height={height} fill="transparent" />
            <rect x={n * 10 + 1} y={height - good} width={8} height={good} fill="var(--chart-succeeded)" />
            <rect x={n * 10 + 1} y={height - good - bad} width={8} height={bad} fill="var(--chart-failed)" />
          </g>
        );
      })}
    </svg>
  );
}

function describeTotals(delivered: number, failed: number): string {
  const attempts = failed === 1 ? '1 failed attempt' : `${failed.toLocaleString()} failed attempts`;
  return `${delivered.toLocaleString()} delivered, ${attempts}`;
}

function formatHour(hour: Hour | undefined): string {
  return hour ? clock.format(new Date(hour.at)) : '';
}
