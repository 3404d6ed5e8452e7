/**
 * Whether a client's id for a user contains an email address or is a complete phone number in a usual format. Other
 * ids of digits and dashes, such as `2024-001-17`, are common, and so are plain digits.
 */
export function isPersonal(user_id: string): boolean {
  if (/\S@\S+\.\S/.test(user_id)) return true;
  const text = user_id
    .normalize('NFKC')
    .replace(/\p{Pd}/gu, '-')
    .replaceAll('[', '(')
    .replaceAll(']', ')')
    .replace(/\s+/g, ' ')
    .replace(/^tel:/i, '')
    .replace(/ ?(x|ext\.?) ?\d{1,6}$/i, '')
    .trim();
  return phone_formats.some((format) => format.test(text));
}

const phone_formats = [
  // +12025550143, +44 (0)20 7946 0958: any country, 7 to 15 digits.
  /^\+(?:[ .()-]{0,2}\d){7,15}$/,
  // 202-555-0143, 202.555.0143, 1 202 555 0143
  /^(?:1[ .-])?\d{3}[ .-]\d{3}[ .-]\d{4}$/,
  // (202) 555-0143, 1 (202) 5550143
  /^(?:1[ .-]?)?\(\d{3}\)[ .-]?\d{3}[ .-]?\d{4}$/,
  // (020) 7946 0958: an area code of another country.
  /^\(0\d{1,4}\)[ .-]?\d{3,4}[ .-]?\d{3,4}$/,
  // 0044 20 7946 0958: dialed from abroad.
  /^00[ .-]?\d{1,3}(?:[ .()-]{1,2}\d{2,4}){2,4}$/,
];
