import type { Environment } from '../../catalog/settings/settingValues.ts';

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan';

/** A text as a terminal shows it. Where that is not possible, the text alone says the same. */
export type Styled = { text: string; style?: Style; symbol?: string; url?: string };
export type Text = string | Styled;

/** What an output can show. */
type Look = { symbols: boolean; color: boolean; links: boolean };

const codes: Record<Style, readonly [start: number, end: number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
};

const states: Record<string, { symbol: string; style: Style }> = {
  succeeded: { symbol: '✓', style: 'green' },
  success: { symbol: '✓', style: 'green' },
  active: { symbol: '✓', style: 'green' },
  enabled: { symbol: '✓', style: 'green' },
  ok: { symbol: '✓', style: 'green' },
  on: { symbol: '●', style: 'yellow' },
  once: { symbol: '●', style: 'yellow' },
  off: { symbol: '○', style: 'dim' },
  running: { symbol: '●', style: 'blue' },
  queued: { symbol: '○', style: 'dim' },
  pending: { symbol: '○', style: 'blue' },
  paused: { symbol: '○', style: 'yellow' },
  parked: { symbol: '○', style: 'yellow' },
  login_required: { symbol: '!', style: 'yellow' },
  warning: { symbol: '!', style: 'yellow' },
  retrying: { symbol: '↻', style: 'yellow' },
  partial: { symbol: '◐', style: 'yellow' },
  needs_review: { symbol: '?', style: 'magenta' },
  failed: { symbol: '✗', style: 'red' },
  disabled: { symbol: '✗', style: 'red' },
  critical: { symbol: '✗', style: 'red' },
  problem: { symbol: '✗', style: 'red' },
  cancelled: { symbol: '–', style: 'dim' },
  revoked: { symbol: '–', style: 'dim' },
  none: { symbol: '–', style: 'dim' },
};

/** A state in its color, after its symbol: no color says anything alone. */
export function styleState(state: string, label = state): Styled {
  return { text: label, ...states[state] };
}

/** The same for the status of a response: only what is not a success stands out. */
export function styleStatus(status: number): Styled {
  if (status < 400) return { text: String(status) };
  return { text: String(status), style: status < 500 ? 'yellow' : 'red' };
}

let environment: Environment = {};
let times: 'local' | 'utc' = 'local';

/** Sets what the environment says about terminals. Called once, before a command runs. */
export function setTerminal(env: Environment): void {
  environment = env;
}

/** Sets the zone that times are shown in. */
export function setTimes({ utc }: { utc: boolean }): void {
  times = utc ? 'utc' : 'local';
}

/** What an output can show: nothing but text if it is not a terminal. FORCE_COLOR and NO_COLOR have the last word. */
function readLook(output: NodeJS.WriteStream): Look {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = environment;
  const forced = force !== undefined && force !== '' && force !== '0' && force !== 'false';
  const terminal = output.isTTY === true && term !== 'dumb';
  const refused = force === '0' || force === 'false' || (no !== undefined && no !== '');
  return {
    symbols: forced || terminal,
    color: forced || (terminal && !refused),
    links: terminal && knowsLinks(environment),
  };
}

/** Terminals that are known to show OSC 8 links; others may print the address. */
function knowsLinks(env: Environment): boolean {
  if (env.CI || env.TMUX || /^screen/.test(env.TERM ?? '')) return false;
  if (Number(env.VTE_VERSION) >= 5000 || env.WT_SESSION || env.KONSOLE_VERSION || env.DOMTERM) return true;
  if (/kitty|alacritty|ghostty|foot/.test(env.TERM ?? '')) return true;
  return /^(iTerm\.app|WezTerm|vscode|ghostty|Hyper|Tabby|rio)$/.test(env.TERM_PROGRAM ?? '');
}

/** The text as the output shows it, and how many columns it takes. */
export function render(part: Text, output: NodeJS.WriteStream = process.stdout): { shown: string; width: number } {
  const { text, style, symbol, url } = typeof part === 'string' ? { text: part } : (part as Styled);
  const look = readLook(output);
  const visible = `${look.symbols && symbol !== undefined ? `${symbol} ` : ''}${removeControls(text)}`;
  const [start, end] = (look.color && style && codes[style]) || [];
  const colored = start === undefined ? visible : `\x1b[${start}m${visible}\x1b[${end}m`;
  const linked = look.links && url !== undefined ? `\x1b]8;;${url}\x1b\\${colored}\x1b]8;;\x1b\\` : colored;
  return { shown: linked, width: visible.length };
}

/** Control characters could change the terminal. */
export function removeControls(text: string): string {
  return text.replace(/\p{Cc}/gu, ' ');
}

/** `2026-03-02 15:04:05`, in the zone that `zoneName` names. */
export function formatTime(time: string | Date | null): string {
  if (time === null) return '–';
  if (times === 'utc') return formatUtc(time);
  const at = new Date(time);
  const two = (number: number) => String(number).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** The same in UTC, for reports whose periods are in UTC. */
export function formatUtc(time: string | Date | null): string {
  return time === null ? '–' : new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

/** The same with the zone, for a time that stands alone: `2026-03-02 15:04:05 EST`. */
export function formatMoment(time: string | Date | null): string {
  if (time === null) return '–';
  if (times === 'utc') return `${formatTime(time)} UTC`;
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'short' }).formatToParts(new Date(time));
  return `${formatTime(time)} ${parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''}`.trimEnd();
}

/** The zone of times, for the head of a column: `America/New_York`. */
export function zoneName(): string {
  if (times === 'utc') return 'UTC';
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions();
  return /^Etc\/(UTC|GMT|UCT)$/.test(timeZone) ? 'UTC' : timeZone;
}

/** A line about what a command waits for. On a terminal it changes in place; elsewhere each change is a line. */
export function showWaiting(output: NodeJS.WriteStream = process.stderr): {
  show: (text: string, more?: string) => void;
  clear: () => void;
} {
  let last = '';
  const changes_in_place = output.isTTY === true;
  return {
    // `more` changes all the time, such as the seconds that have passed.
    show: (text, more = '') => {
      if (changes_in_place) {
        const line = removeControls(`${text}${more}`).slice(0, Math.max((output.columns || 80) - 1, 1));
        output.write(`\r\x1b[K${line}`);
      } else if (text !== last) output.write(`${removeControls(text)}\n`);
      last = text;
    },
    clear: () => {
      if (changes_in_place && last !== '') output.write('\r\x1b[K');
    },
  };
}
