import { Html, html } from '../html.ts';

/** A drawing in SVG. Its colors are classes: of the site's style sheet on a page, of its own `<style>` in a file. */
export type Drawing = { width: number; height: number; parts: readonly Html[] };

export type Place = { x: number; y: number; w: number; h: number };
export type Point = readonly [x: number, y: number];

/** `own`: a part of the service. `good` and `bad`: an end that needs nobody, and one that needs somebody. */
export type Tone = 'own' | 'good' | 'bad' | 'plain';

/** Of letters with 13 and 12 units, on average; a monospaced one needs more. */
const letter_width = { title: 8.2, note: 6.9 };
const line_height = 16;

/** A box with a title and lines below it, both wrapped to its width and centered. */
export function box(
  { x, y, w, h }: Place,
  title: string,
  { note = '', tone = 'plain' as Tone, mono = false } = {},
): Html {
  const titles = wrap(title, (w - 12) / (mono ? letter_width.title * 0.9 : letter_width.title));
  const notes = note === '' ? [] : wrap(note, (w - 12) / letter_width.note);
  const top = y + h / 2 - ((titles.length + notes.length - 1) * line_height) / 2 + 4.5;
  const line = (text: string, index: number, kind: string) =>
    html`<text class="${kind}" x="${x + w / 2}" y="${top + index * line_height}" text-anchor="middle">${text}</text>`;
  return html`<rect class="${tone}" x="${x}" y="${y}" width="${w}" height="${h}" rx="8"/>
${titles.map((text, index) => line(text, index, mono ? 'title mono' : 'title'))}
${notes.map((text, index) => line(text, titles.length + index, 'note'))}`;
}

/** A frame around boxes, named at its top. */
export function frame({ x, y, w, h }: Place, title: string): Html {
  return html`<rect class="frame" x="${x}" y="${y}" width="${w}" height="${h}" rx="10"/>
<text class="note" x="${x + 10}" y="${y + 18}">${title}</text>`;
}

/** A line through points that ends with a head. */
export function arrow(points: readonly Point[], { dashed = false } = {}): Html {
  const [from, to] = [points.at(-2), points.at(-1)];
  if (!from || !to) return html``;
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const corner = (turn: number): Point => [to[0] - 8 * Math.cos(angle + turn), to[1] - 8 * Math.sin(angle + turn)];
  const list = (all: readonly Point[]) => all.map(([x, y]) => `${round(x)},${round(y)}`).join(' ');
  return html`<polyline class="line${dashed && ' dashed'}" points="${list(points)}"/>
<polygon class="head" points="${list([to, corner(0.45), corner(-0.45)])}"/>`;
}

/** A word on a line, with the paper behind it. */
export function label(text: string, [x, y]: Point, anchor: 'start' | 'middle' | 'end' = 'middle'): Html {
  return html`<text class="label" x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${text}</text>`;
}

export function circle([x, y]: Point, text: string): Html {
  return html`<circle class="own" cx="${round(x)}" cy="${round(y)}" r="11"/>
<text class="title" x="${round(x)}" y="${round(y + 4.5)}" text-anchor="middle">${text}</text>`;
}

/** `faint`: not a way that something takes, but what it belongs to. */
export function path(d: string, { faint = false } = {}): Html {
  return html`<path class="${faint ? 'faint' : 'line'}" d="${d}"/>`;
}

export const middle = ({ x, y, w, h }: Place): Point => [x + w / 2, y + h / 2];
export const top = ({ x, y, w }: Place): Point => [x + w / 2, y];
export const bottom = ({ x, y, w, h }: Place): Point => [x + w / 2, y + h];
export const left = ({ x, y, h }: Place): Point => [x, y + h / 2];
export const right = ({ x, y, w, h }: Place): Point => [x + w, y + h / 2];

/** As part of a page. */
export function inline({ width, height, parts }: Drawing, alternative: string, shown: 'wide' | 'narrow'): Html {
  return html`<svg class="${shown}" role="img" aria-label="${alternative}" viewBox="0 0 ${width} ${height}">${parts}</svg>`;
}

/** As a file, for readers of the repository: with its colors, light and dark. */
export function toFile({ width, height, parts }: Drawing, title: string): string {
  return html`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="-8 -8 ${width + 16} ${height + 16}">
<title>${title}</title>
<style>${new Html(colors)}</style>
${parts}
</svg>
`.text;
}

/** Those of web/docs/parts.css, on the paper of whoever shows the file. */
const colors = `
svg { --ink: #1a2330; --muted: #526070; --paper: #fff; --soft: #f5f7f9; --line: #dce2e9; --edge: #7b8794; --accent: #0b5a6e; --good: #1a6533; --bad: #a11d27; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #e4e9f0; --muted: #a6b2c0; --paper: #0f141a; --soft: #171e26; --line: #2c3643; --edge: #75818f; --accent: #7ccadd; --good: #86d6a1; --bad: #ffa3a3; }
}
text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.title { font-weight: 600; }
.mono { font-family: ui-monospace, monospace; font-size: 12px; }
.note, .label { font-size: 12px; fill: var(--muted); }
.label { stroke: var(--paper); stroke-width: 5px; paint-order: stroke; }
rect, circle { fill: var(--soft); stroke: var(--edge); }
.own { stroke: var(--accent); stroke-width: 1.5px; }
.good { stroke: var(--good); stroke-width: 1.5px; }
.bad { stroke: var(--bad); stroke-width: 1.5px; }
.frame { fill: none; stroke-dasharray: 4 4; }
.line { fill: none; stroke: var(--edge); stroke-width: 1.5px; }
.faint { fill: none; stroke: var(--line); stroke-width: 1.5px; }
.dashed { stroke-dasharray: 5 4; }
.head { fill: var(--edge); }
`;

/** Lines of at most this many letters, broken between words. */
function wrap(text: string, letters: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
