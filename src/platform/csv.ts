/** One line of a CSV file. */
export function csvLine(values: readonly string[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

/** Spreadsheets treat a value with such a start as a formula; a leading quote makes it text. */
function cell(value: string): string {
  const text = /^\s*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return `"${text.replaceAll('"', '""')}"`;
}

/** The longest line, so that an open quote does not collect the rest of a file. */
const line_chars_max = 1_000_000;

/**
 * Reads the rows of a CSV file of any length (RFC 4180). The delimiter is the one that is most frequent in the first
 * line: a comma, a semicolon or a tab. Blank lines are skipped.
 */
export async function* readCsvRows(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  let delimiter: string | undefined;
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    for (let end = lineEnd(rest); end >= 0; end = lineEnd(rest)) {
      const line = rest.slice(0, end).replace(/\r$/, '');
      rest = rest.slice(end + 1);
      delimiter ??= findDelimiter(line);
      if (line.trim() !== '') yield splitLine(line, delimiter);
    }
    if (rest.length > line_chars_max) throw new RangeError('a line is too long, or a quote is not closed');
  }
  const last = rest + decoder.decode();
  if (last.trim() !== '') yield splitLine(last.replace(/\r$/, ''), delimiter ?? findDelimiter(last));
}

/** The first line break that is not in quotes, or -1. */
function lineEnd(text: string): number {
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 34) quoted = !quoted;
    else if (char === 10 && !quoted) return at;
  }
  return -1;
}

function findDelimiter(line: string): string {
  const count = (delimiter: string) => line.split(delimiter).length;
  const delimiters = [',', ';', '\t'];
  return delimiters.sort((a, b) => count(b) - count(a))[0] ?? ',';
}

function splitLine(line: string, delimiter: string): string[] {
  const values: string[] = [];
  let at = 0;
  while (at <= line.length) {
    if (line[at] !== '"') {
      const end = line.indexOf(delimiter, at);
      values.push(line.slice(at, end < 0 ? line.length : end));
      at = end < 0 ? line.length + 1 : end + 1;
      continue;
    }
    let value = '';
    for (at += 1; at < line.length; at++) {
      if (line[at] !== '"') value += line[at];
      else if (line[at + 1] === '"') value += line[at++];
      else break;
    }
    values.push(value);
    // Text after the closing quote is dropped.
    const end = line.indexOf(delimiter, at + 1);
    at = end < 0 ? line.length + 1 : end + 1;
  }
  return values;
}
