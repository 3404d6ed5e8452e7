import { describe, expect, test } from 'vitest';
import { withOffset } from '../../src/records/withOffset.ts';

describe('what the clock of a zone shows, with its offset', () => {
  test.each([
    ['2026-01-15T09:30:00', 'America/New_York', '2026-01-15T09:30:00-05:00'],
    ['2026-07-15T09:30:00', 'America/New_York', '2026-07-15T09:30:00-04:00'],
    ['2026-07-15T00:00:00', 'Asia/Kolkata', '2026-07-15T00:00:00+05:30'],
    ['2026-07-15T23:59:00', 'UTC', '2026-07-15T23:59:00+00:00'],
    // The hours around the changes of 2026.
    ['2026-03-08T01:59:00', 'America/New_York', '2026-03-08T01:59:00-05:00'],
    ['2026-03-08T03:00:00', 'America/New_York', '2026-03-08T03:00:00-04:00'],
    ['2026-11-01T00:59:00', 'America/New_York', '2026-11-01T00:59:00-04:00'],
    ['2026-11-01T02:00:00', 'America/New_York', '2026-11-01T02:00:00-05:00'],
    // Shown twice: the first. Never shown: the moment of the change.
    ['2026-11-01T01:30:00', 'America/New_York', '2026-11-01T01:30:00-04:00'],
    ['2026-03-08T02:30:00', 'America/New_York', '2026-03-08T03:00:00-04:00'],
    ['2026-10-04T02:15:00', 'Australia/Lord_Howe', '2026-10-04T02:30:00+11:00'],
  ])('%s in %s is %s', (shown, timezone, expected) => {
    expect(withOffset(shown, timezone)).toBe(expected);
  });
});
