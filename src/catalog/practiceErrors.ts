/** Errors of the practice page; part of the error catalogue (errors.ts). */
export const practice_errors = {
  practice_pass_invalid: {
    status: 410,
    message: 'This link to the practice page has expired or was already used. Sign in to the EMR instead.',
  },
  practice_page_unknown: { status: 404, message: 'There is no linked account at this address.' },
  practice_session_invalid: { status: 401, message: 'Sign in to the EMR again.' },
  practice_page_other_user: { status: 403, message: 'The account belongs to another user of the EMR.' },
  practice_page_exhausted: {
    status: 429,
    message: 'Too many sign-ins were started for this account. Try again in an hour.',
  },
} as const satisfies Record<string, { status: number; message: string }>;
