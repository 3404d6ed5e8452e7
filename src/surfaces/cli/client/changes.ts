import { readFile, rename, writeFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { CursorExpiredError } from '../../../../sdk/src/errors.ts';
import type { Change } from '../../../../sdk/src/generated/types.gen.ts';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { followed_kinds } from '../../../model/changes.ts';
import { CommandFailure, printJson, printLine, printProgress, readCount, utc_option } from '../output.ts';
import { formatTime } from '../terminal.ts';
import { suggest } from '../usage/suggestions.ts';
import { stopSignal } from './listen.ts';
import { type Service, type ServiceOptions, serviceCommand, withService } from './service.ts';

type ChangesOptions = ServiceOptions & {
  kinds?: Change['kind'][];
  cursor?: string;
  cursorFile?: string;
  limit?: number;
  follow: boolean;
};

const kinds = followed_kinds.map(({ name }) => name) as Change['kind'][];

export function addChanges(program: Command, env: Environment): void {
  serviceCommand(program, 'changes', 'print the account’s records and what changes in them')
    .option('--kinds <kinds>', `only these kinds, comma-separated: ${kinds.join(', ')}`, readKinds)
    .option('--cursor <cursor>', 'continue from this cursor; latest: only changes from now on')
    .option('--cursor-file <file>', 'continue from the cursor in this file, and keep it up to date')
    .option('--limit <number>', 'stop after this many changes', readCount)
    .option('--follow', 'wait for new changes until Ctrl-C', false)
    .option(...utc_option)
    .addHelpText('after', help)
    .action((options: ChangesOptions) => withService(env, options, (service) => printChanges(service, options)));
}

const help = `
Without a cursor it starts with all current records. The last line on standard error names the cursor to continue from.

Examples:
  $ chartwire changes --kinds patients,appointments --json
  $ chartwire changes --follow --cursor latest
  $ chartwire changes --follow --cursor-file changes.cursor --json >> changes.jsonl
`;

async function printChanges(service: Service, options: ChangesOptions): Promise<void> {
  const { json, cursorFile, limit = Number.POSITIVE_INFINITY, follow } = options;
  if (cursorFile !== undefined && options.cursor !== undefined) {
    throw new CommandFailure('Use either --cursor or --cursor-file.', 'usage');
  }
  if (cursorFile !== undefined && limit !== Number.POSITIVE_INFINITY) {
    throw new CommandFailure(
      '--limit could end within a page, whose cursor is not saved: leave out --cursor-file.',
      'usage',
    );
  }
  let cursor = cursorFile === undefined ? options.cursor : await readCursor(cursorFile);
  const stopped = stopSignal();
  const changes = service.account().changes.follow({
    cursor,
    kinds: options.kinds,
    untilCurrent: !follow,
    pollMs: 2_000,
    signal: stopped,
    saveCursor: async (next) => {
      cursor = next;
      if (cursorFile !== undefined) await saveCursor(cursorFile, next);
    },
  });
  let printed = 0;
  try {
    for await (const change of changes) {
      if (json) printJson(change, { line: true });
      else printLine(formatLine(change));
      if (++printed >= limit) return;
    }
  } catch (error) {
    if (!stopped.aborted) throw explainExpired(error, cursorFile);
  }
  if (cursorFile === undefined && cursor !== undefined) printProgress(`Cursor: ${cursor}`);
}

function explainExpired(error: unknown, cursorFile: string | undefined): unknown {
  if (!(error instanceof CursorExpiredError)) return error;
  const start = cursorFile === undefined ? 'Start again without --cursor' : `Delete ${cursorFile} and start again`;
  return new CommandFailure(`${error.message} ${start}: all current records follow.`, 'error', { cause: error });
}

/** Records are health data: people see which ones changed, programs get them with --json. */
function formatLine({ changed_at, kind, op, id, emr_id }: Change): string {
  return [formatTime(changed_at), op.padEnd(6), kind.padEnd(12), id, emr_id ?? '–'].join('  ');
}

function readKinds(text: string): Change['kind'][] {
  const names = text.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !kinds.some((kind) => kind === name));
  if (unknown !== undefined) {
    throw new CommandFailure(
      `--kinds: '${unknown}' is none of ${kinds.join(', ')}.${suggest(unknown, kinds)}`,
      'usage',
    );
  }
  return kinds.filter((kind) => names.includes(kind));
}

/** A file that does not exist yet: from the beginning. */
async function readCursor(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).trim() || undefined;
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new CommandFailure(`--cursor-file: cannot read ${file}.`, 'usage', { cause });
  }
}

/** By a rename, so that a crash leaves the old cursor or the new one. */
async function saveCursor(file: string, cursor: string): Promise<void> {
  const next = `${file}.next`;
  try {
    await writeFile(next, `${cursor}\n`, { mode: 0o600 });
    await rename(next, file);
  } catch (cause) {
    throw new CommandFailure(`--cursor-file: cannot write ${file}.`, 'error', { cause });
  }
}
