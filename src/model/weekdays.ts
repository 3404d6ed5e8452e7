/** Weekdays as the API names them, in the order of ISO 8601. */
export const weekdays = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const;

/** The weekdays as an enum's values with their explanations. */
export const weekday_descriptions = {
  Monday: 'Every Monday',
  Tuesday: 'Every Tuesday',
  Wednesday: 'Every Wednesday',
  Thursday: 'Every Thursday',
  Friday: 'Every Friday',
  Saturday: 'Every Saturday',
  Sunday: 'Every Sunday',
} as const satisfies Record<(typeof weekdays)[number], string>;
