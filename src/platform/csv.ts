/** One line of a CSV file. */
export function csvLine(values: readonly string[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

/** Spreadsheets treat a value with such a start as a formula; a leading quote makes it text. */
function cell(value: string): string {
  const text = /^\s*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}
