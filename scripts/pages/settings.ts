import { settings } from '../../src/config.ts';
import { code, page, table } from './markdown.ts';

export function envExample(): string {
  const lines = Object.entries(settings).map(
    ([name, { about, example, default: fallback }]) => `# ${about}\n# Default: ${fallback}\n#${name}=${example}\n`,
  );
  return `# Settings of Chartwire. Copy this file to .env and uncomment what you change; the environment wins over the file.\n\n${lines.join('\n')}`;
}

export function settingsPage(): string {
  const rows = Object.entries(settings).map(([name, { about, default: fallback, example }]) => [
    code(name),
    about,
    fallback,
    example === '' || example === fallback ? '' : code(example),
  ]);
  return page('Settings', [
    'Read from the environment, or from `.env` beside `package.json`; the environment wins. A malformed one stops the start with one sentence that says what to write instead.',
    table(['Setting', 'What it does', 'Default', 'For example'], rows),
  ]);
}
