import type { Command, CommanderError } from 'commander';
import { suggest } from './suggestions.ts';

/** What is wrong with the arguments, what was probably meant, and where the help is. */
export function explainUsage(error: CommanderError, command: Command): string {
  const { cause, suggestion } = describeCause(error, command);
  return `${cause.charAt(0).toUpperCase()}${cause.slice(1)}.${suggestion} See: ${formatPath(command)} --help\n`;
}

function describeCause(error: CommanderError, command: Command): { cause: string; suggestion: string } {
  const cause = error.message.replace(/^error: /, '').replace(/\.$/, '');
  if (error.code === 'commander.excessArguments' || error.code === 'commander.unknownCommand') {
    const typed = [...formatPath(command).split(' ').slice(1), ...command.args].join(' ');
    const names = [...command.commands.map((each) => each.name()), ...(command.parent ? [] : ['help'])];
    return { cause: `unknown command '${typed}'`, suggestion: suggest(command.args[0] ?? '', names) };
  }
  const [, option] = /^unknown option '(-[^']*)'$/.exec(cause) ?? [];
  if (option !== undefined) {
    const names = [...command.options.flatMap(({ long }) => long ?? []), '--help'];
    return { cause, suggestion: suggest(option, names) };
  }
  const [, value = '', choices = ''] =
    /'([^']*)' is invalid(?: for argument '.*')?\. Allowed choices are (.*)$/s.exec(cause) ?? [];
  return { cause, suggestion: suggest(value, choices.split(', ')) };
}

/** The command that the arguments name, as far as it exists. */
export function deepestCommand(program: Command, argv: readonly string[]): Command {
  let command = program;
  for (const word of argv) {
    const next = command.commands.find((each) => each.name() === word);
    if (next) command = next;
    else if (!word.startsWith('-')) break;
  }
  return command;
}

export function formatPath(command: Command): string {
  return command.parent ? `${formatPath(command.parent)} ${command.name()}` : command.name();
}
