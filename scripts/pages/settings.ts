import { secret_names, settings } from '../../src/catalog/settings/config.ts';
import { code, page, table } from './markdown.ts';

export function envExample(): string {
  const lines = Object.entries(settings).map(
    ([name, { description, example, default: fallback }]) =>
      `# ${description}\n# Default: ${fallback}\n#${name}=${example}\n${secret_names.includes(name) ? `#${name}_FILE=/path/of/a/file\n` : ''}`,
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
    '## Secrets',
    'These settings are secrets. Each can be set in three ways; two at once are an error that names both:',
    `- the variable itself, such as ${code('MASTER_KEY')};
- a file, named by the variable with the suffix ${code('_FILE')}, such as ${code('MASTER_KEY_FILE')}: one line of text, up to 64 KB, not a pipe;
- a systemd credential with the name of the setting, ${code('$CREDENTIALS_DIRECTORY/MASTER_KEY')}, which ${code('LoadCredential=')} in the unit provides.`,
    `${code('MASTER_KEY')} and ${code('MASTER_KEY_PREVIOUS')} can also be printed by a program: ${code('MASTER_KEY_COMMAND')} and ${code('MASTER_KEY_PREVIOUS_COMMAND')}. [Going live](../guides/going-live.md#secrets) has examples.`,
    table(
      ['Secret', 'Its file'],
      secret_names.map((name) => [code(name), code(`${name}_FILE`)]),
    ),
  ]);
}
