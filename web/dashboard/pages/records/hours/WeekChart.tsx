import type { MouseEvent } from 'react';
import { weekdays } from '../../../service/api.gen.ts';
import { type DraftRange, type DraftWeek, endTime, type Weekday } from './draft.ts';
import { hourLabel } from './times.ts';

/**
 * The week as a chart for mouse users: a click on a bar goes to its inputs, and a click on a free hour adds it. Hidden
 * from screen readers, because the inputs offer the same.
 */
export function WeekChart({
  week,
  editable,
  onPick,
  onAdd,
}: {
  week: DraftWeek;
  editable: boolean;
  onPick: (range: DraftRange) => void;
  onAdd: (day: Weekday, start: string, end: string) => void;
}) {
  const times = Object.values(week)
    .flat()
    .filter((range) => range.start !== '' && endTime(range.end) > range.start);
  const first = Math.min(8, ...times.map((range) => Math.floor(minutes(range.start) / 60)));
  const last = Math.max(18, ...times.map((range) => Math.ceil(minutes(endTime(range.end)) / 60)));
  const share = (time: string) => (100 * (minutes(time) - first * 60)) / ((last - first) * 60);
  const hourAt = (event: MouseEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(
      last - 1,
      Math.max(first, first + Math.floor(((event.clientY - box.top) / box.height) * (last - first))),
    );
  };
  return (
    <div className="week" aria-hidden="true">
      <div className="week-hours">
        {[first, Math.round((first + last) / 2), last].map((hour) => (
          <span key={hour}>{hourLabel(hour)}</span>
        ))}
      </div>
      {weekdays.map((day) => (
        <div key={day} className="week-day">
          <span>{day.slice(0, 2)}</span>
          {/* biome-ignore lint/a11y/noStaticElementInteractions: the inputs below offer the same by keyboard. */}
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: as above. */}
          <div
            className="week-column"
            onClick={(event) => editable && onAdd(day, clock(hourAt(event)), clock(hourAt(event) + 1))}
          >
            {week[day]
              .filter((range) => times.includes(range))
              .map((range) => (
                // biome-ignore lint/a11y/noStaticElementInteractions: as above.
                // biome-ignore lint/a11y/useKeyWithClickEvents: as above.
                <div
                  key={range.key}
                  className="week-range"
                  style={{
                    top: `${share(range.start)}%`,
                    height: `${share(endTime(range.end)) - share(range.start)}%`,
                  }}
                  onClick={(event) => {
                    event.stopPropagation();
                    onPick(range);
                  }}
                />
              ))}
          </div>
        </div>
      ))}
    </div>
  );
}

function minutes(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

/** The value of a time input; the day ends at 00:00. */
function clock(hour: number): string {
  return `${String(hour % 24).padStart(2, '0')}:00`;
}
