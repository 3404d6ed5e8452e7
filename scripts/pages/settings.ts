import { settings } from '../../src/catalog/settings/config.ts';
import { code, page, table } from './markdown.ts';

export function envExample(): string {
  const lines = Object.entries(settings).map(
    ([name, { description, example, default: fallback }]) =>
      `# ${description}\n# Default: ${fallback}\n#${name}=${example}\n`,
  );
  return `# Chartwire settings. Copy this file to .env and uncomment what you change. Environment variables override the file.\n\n${lines.join('\n')}`;
}

export function settingsPage(): string {
  const rows = Object.entries(settings).map(([name, { description, default: fallback, example }]) => [
    code(name),
    description,
    fallback,
    example === '' || example === fallback ? '' : code(example),
  ]);
  return page('Settings', [
    'Settings come from environment variables or from a `.env` file next to `package.json`; environment variables take precedence. If a setting is invalid, the service does not start and prints what to change.',
    table(['Setting', 'Description', 'Default', 'Example'], rows),
  ]);
}
