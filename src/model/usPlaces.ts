import { Type } from 'typebox';

/** States, the District of Columbia, inhabited territories and the three military postal regions. */
const states =
  'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI AA AE AP'.split(
    ' ',
  );

const anyCase = (code: string) => code.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`);

/** A two-letter abbreviation in any case. */
export const us_state = Type.String({
  pattern: `^(${states.map(anyCase).join('|')})$`,
  messages: { pattern: '{name} must be a two-letter US state abbreviation' },
  notation: 'two-letter US state abbreviation',
});

export const us_zip = Type.String({
  pattern: '^[0-9]{5}(-[0-9]{4})?$',
  messages: { pattern: '{name} must be a ZIP code in the form NNNNN or NNNNN-NNNN' },
  notation: 'NNNNN or NNNNN-NNNN',
});

/** The digits of a phone number without the country code, by which numbers are compared. Empty if it has none. */
export function phoneDigits(phone: string): string {
  return phone.replace(/[^0-9]/g, '').replace(/^1(?=[0-9]{10}$)/, '');
}

export const us_phone = Type.String({
  pattern: '^\\d{3}-\\d{3}-\\d{4}$',
  messages: { pattern: '{name} must be a phone number in the form NNN-NNN-NNNN' },
  notation: 'NNN-NNN-NNNN',
});
