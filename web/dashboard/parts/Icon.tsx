/** Outlines on a grid of 24, drawn for this dashboard. */
const outlines = {
  overview: 'M4 4h7v7H4z M13 4h7v4h-7z M13 11h7v9h-7z M4 14h7v6H4z',
  accounts: 'M9 15l6-6 M11 6l1-1a4.2 4.2 0 0 1 6 6l-2 2 M13 18l-1 1a4.2 4.2 0 0 1-6-6l2-2',
  jobs: 'M10 6h10 M10 12h10 M10 18h10 M4 6l1 1 2-2 M4 12l1 1 2-2 M4 18l1 1 2-2',
  events: 'M13 3L5 14h6l-1 7 8-11h-6z',
  records: 'M4 6a1 1 0 0 1 1-1h4l2 3h8a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1z',
  requests: 'M4 7h13 M13 3l4 4-4 4 M20 17H7 M11 13l-4 4 4 4',
  sandbox: 'M9 3h6 M10 3v6L5 18a2 2 0 0 0 2 3h10a2 2 0 0 0 2-3l-5-9V3 M8 14h8',
  audit: 'M12 3l7 3v5c0 5-3 8-7 10-4-2-7-5-7-10V6z M9 12l2 2 4-4',
  disclosures: 'M2 12c3-5 6-7 10-7s7 2 10 7c-3 5-6 7-10 7s-7-2-10-7 M12 9a3 3 0 1 0 0 6a3 3 0 1 0 0-6',
  settings: 'M4 7h9 M17 7h3 M4 17h3 M11 17h9 M15 5v4 M9 15v4',
  empty: 'M4 13l3-8h10l3 8v6H4z M4 13h5a3 3 0 0 0 6 0h5',
  check: 'M5 12l5 5 9-10',
  cross: 'M6 6l12 12 M18 6L6 18',
  alert: 'M12 4l9 16H3z M12 10v4 M12 17v.5',
  clock: 'M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18 M12 7v5l3 2',
  play: 'M7 4l12 8-12 8z',
  pause: 'M8 5v14 M16 5v14',
  retry: 'M19 12a7 7 0 1 1-2-5 M19 4v4h-4',
  send: 'M4 12l16-8-6 16-3-6z',
  question: 'M9 9a3 3 0 1 1 4 3c-1 .5-1 1-1 2 M12 17v.5 M12 3a9 9 0 1 0 0 18a9 9 0 1 0 0-18',
  search: 'M11 4a7 7 0 1 0 0 14a7 7 0 1 0 0-14 M16 16l4 4',
  more: 'M5 12v.01 M12 12v.01 M19 12v.01',
  user: 'M12 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8 M5 20a7 7 0 0 1 14 0',
  passkey: 'M8 10a4 4 0 1 0 0 4h4v3h3v-3h2v3h3v-7H8 M7 12v.01',
  book: 'M5 5a2 2 0 0 1 2-2h11v18H7a2 2 0 0 1-2-2z M5 19a2 2 0 0 1 2-2h11 M9 7h5',
  note: 'M12 9a3 3 0 1 0 0 6a3 3 0 1 0 0-6',
} as const;

export type IconName = keyof typeof outlines;

/** Decorative: the text next to it says the same. */
export function Icon({ name, size = 18, color }: { name: IconName; size?: number; color?: string }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke={color ?? 'currentColor'}
      strokeWidth={1.75}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={outlines[name]} />
    </svg>
  );
}
