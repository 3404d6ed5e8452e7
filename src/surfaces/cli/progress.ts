/** How often a terminal's line changes. */
const terminal_ms = 100;

/** Shows progress: a percentage that changes in place on a terminal, otherwise one line per quarter. */
export function showProgress(
  output: NodeJS.WriteStream = process.stderr,
): (label: string, done: number, total: number) => void {
  let shown = { label: '', quarter: -1, at: 0 };
  return (label, done, total) => {
    const percent = total === 0 ? 100 : Math.floor((100 * done) / total);
    const quarter = Math.floor(percent / 25);
    const finished = done >= total;
    const line = `${label}: ${percent} %`;
    if (output.isTTY) {
      if (!finished && label === shown.label && Date.now() - shown.at < terminal_ms) return;
      if (finished && label === shown.label && shown.quarter === quarter) return;
      output.write(`\r${line}${finished ? '\n' : ''}`);
    } else {
      if (label === shown.label && quarter === shown.quarter) return;
      output.write(`${line}\n`);
    }
    shown = { label, quarter, at: Date.now() };
  };
}
