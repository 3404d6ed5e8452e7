import { describe, expect, test } from 'vitest';
import { chooseLocale, formatClock, formatTime } from '../../web/link/texts.ts';

describe('times and numbers in Link', () => {
  const at = (hour: number, day: Date) => new Date(day.getFullYear(), day.getMonth(), day.getDate(), hour, 5);
  const today = new Date();
  const earlier = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 2);

  test('the start of an outage has its date, unless it is today', () => {
    expect(formatClock('en', at(13, today).toISOString())).toMatch(/^1:05\sPM$/);
    const month = earlier.toLocaleString('en-US', { month: 'long' });
    expect(formatClock('en', at(13, earlier).toISOString())).toMatch(
      new RegExp(`^${month} ${earlier.getDate()}.*1:05\\sPM$`),
    );
  });

  test('Spanish uses the clock and the separators of the US', () => {
    expect(formatTime('es', at(13, today).toISOString())).toMatch(/1:05\sp\.\s?m\.$/);
    expect(new Intl.NumberFormat(chooseLocale('es')).format(12_345)).toBe('12,345');
  });
});
