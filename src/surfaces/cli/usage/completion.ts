import { Argument, type Command, type Option } from 'commander';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and values in your shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText('after', help)
    .action((shell: Shell) => {
      process.stdout.write(composeCompletion(program, shell));
    });
}

const help = `
Examples:
  $ source <(chartwire completion bash)    add this line to ~/.bashrc
  $ source <(chartwire completion zsh)     add this line to ~/.zshrc, after compinit
  $ chartwire completion fish | source     add this line to ~/.config/fish/config.fish
`;

/** The completion script of a shell, made of the tree of commands. It also completes ./chartwire. */
export function composeCompletion(program: Command, shell: Shell): string {
  return { bash: composeBash, zsh: composeZsh, fish: composeFish }[shell](listNodes(program, ''));
}

/** What can follow the words of a command. `path` has no program name: `jobs list`. */
type Node = { path: string; commands: Word[]; options: Flag[]; values: Values };
type Word = { word: string; description: string };
type Flag = { flags: string[]; description: string; values: Values | undefined };
/** What an option or an argument takes: one of these words, a file, a folder, or anything. */
type Values = { words: readonly string[]; files?: 'file' | 'folder' };

function listNodes(command: Command, path: string): Node[] {
  const visible = command.createHelp().visibleCommands(command);
  const [argument] = command.registeredArguments;
  const node: Node = {
    path,
    commands: visible.map((each) => ({ word: each.name(), description: firstClause(each.description()) })),
    options: command.createHelp().visibleOptions(command).map(toFlag),
    values: { words: argument?.argChoices ?? [], ...readFiles(argument?.name() ?? '') },
  };
  const inner = command.commands.flatMap((each) => listNodes(each, `${path} ${each.name()}`.trim()));
  return [node, ...inner];
}

function toFlag({ short, long, description, required, optional, argChoices, flags }: Option): Flag {
  const value = /[<[](.*?)[\]>.]/.exec(flags)?.[1] ?? '';
  return {
    flags: [short, long].filter((each) => each !== undefined),
    description: firstClause(description),
    values: required || optional ? { words: argChoices ?? [], ...readFiles(value) } : undefined,
  };
}

function readFiles(name: string): Pick<Values, 'files'> {
  if (/\b(file|list)$/.test(name)) return { files: 'file' };
  return /\bfolder$/.test(name) ? { files: 'folder' } : {};
}

/** Shells show one line. */
function firstClause(description: string): string {
  return (
    description
      .split(/[;:(]/, 1)[0]
      ?.replaceAll(/['`"$\\\n]/g, '')
      .trim() ?? ''
  );
}

const banner = 'Completion for chartwire.';

function composeBash(nodes: readonly Node[]): string {
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  const options = nodes.flatMap(({ path, options: flags }) =>
    flags.flatMap(({ flags: names, values }) => {
      if (!values) return [];
      return [`    ${names.map((name) => `'${path}:${name}'`).join('|')}) ${bashReply(values)}; return ;;`];
    }),
  );
  const words = nodes.map(({ path, commands, options: flags, values }) => {
    const names = [...commands.map(({ word }) => word), ...values.words];
    const dashed = flags.flatMap(({ flags: each }) => each);
    return `    '${path}') words='${names.join(' ')}' options='${dashed.join(' ')}' files='${values.files ?? ''}' ;;`;
  });
  return `# ${banner}
_chartwire() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} path='' next word words='' options='' files=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next=\${path:+$path }$word
    case $next in
      ${paths.join('|')}) path=$next ;;
    esac
  done
  COMPREPLY=()
  case "$path:$previous" in
${options.join('\n')}
  esac
  case $path in
${words.join('\n')}
  esac
  [[ $current == -* ]] && words=$options
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [[ -n $files && $current != -* ]] && COMPREPLY+=($(compgen -f -- "$current"))
}
complete -o filenames -F _chartwire chartwire
`;
}

function bashReply({ words, files }: Values): string {
  if (files) return `COMPREPLY=($(compgen ${files === 'folder' ? '-d' : '-f'} -- "$current"))`;
  return words.length === 0 ? ':' : `COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$current"))`;
}

function composeZsh(nodes: readonly Node[]): string {
  const describe = (entries: readonly Word[]) =>
    entries.map(({ word, description }) => `'${word.replaceAll(':', '\\:')}:${description}'`).join(' ');
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  const options = nodes.flatMap(({ path, options: flags }) =>
    flags.flatMap(({ flags: names, values }) => {
      if (!values) return [];
      return [`    ${names.map((name) => `'${path}:${name}'`).join('|')}) ${zshReply(values)}; return ;;`];
    }),
  );
  const cases = nodes.map(({ path, commands, options: flags, values }) => {
    const dashed = flags.flatMap(({ flags: names, description }) => names.map((word) => ({ word, description })));
    const entries = [...commands, ...values.words.map((word) => ({ word, description: '' }))];
    const rest = values.files ? `; _files${values.files === 'folder' ? ' -/' : ''}` : '';
    return `    '${path}') entries=(${describe(entries)}) options=(${describe(dashed)})${rest} ;;`;
  });
  return `#compdef chartwire
# ${banner}
_chartwire() {
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]} location='' next word
  local -a entries options
  for word in "\${(@)words[2,CURRENT-1]}"; do
    next="\${location:+$location }$word"
    case $next in
      ${paths.join('|')}) location=$next ;;
    esac
  done
  case "$location:$previous" in
${options.join('\n')}
  esac
  case $location in
${cases.join('\n')}
  esac
  if [[ $current == -* ]]; then _describe 'option' options; else _describe 'value' entries; fi
}
compdef _chartwire chartwire
`;
}

function zshReply({ words, files }: Values): string {
  if (files) return files === 'folder' ? '_files -/' : '_files';
  return words.length === 0 ? ':' : `compadd -- ${words.map((word) => `'${word}'`).join(' ')}`;
}

function composeFish(nodes: readonly Node[]): string {
  const quote = (text: string) => `'${text}'`;
  const lines = nodes.flatMap(({ path, commands, options, values }) => {
    const at = `complete -c chartwire -n '__chartwire_at "${path}"'`;
    return [
      ...commands.map(({ word, description }) => `${at} -a ${quote(word)} -d ${quote(description)}`),
      ...(values.words.length > 0 ? [`${at} -a ${quote(values.words.join(' '))}`] : []),
      ...(values.files ? [`${at} -F`] : []),
      ...options.map(({ flags, description, values: taken }) => {
        const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        const given =
          taken &&
          (taken.files ? ' -r -F' : ` -x${taken.words.length > 0 ? ` -a ${quote(taken.words.join(' '))}` : ''}`);
        return `${at} ${names.join(' ')} -d ${quote(description)}${given ?? ''}`;
      }),
    ];
  });
  const paths = nodes.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return `# ${banner}
function __chartwire_at
    set -l location ''
    for word in (commandline -opc)[2..]
        set -l next (string trim -- "$location $word")
        contains -- "$next" ${paths.join(' ')}; and set location $next
    end
    test "$location" = "$argv[1]"
end
complete -c chartwire -f
${lines.join('\n')}
`;
}
