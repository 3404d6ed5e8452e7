import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { CommandFailure, printJson } from '../output.ts';
import { type ServiceOptions, serviceCommand, withService } from './service.ts';

type ApiOptions = ServiceOptions & { data?: string; idempotencyKey?: string; dryRun?: boolean };

export function addApi(program: Command, env: Environment): void {
  const api = program.command('api').description('send any request, with the credentials filled in');
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'] as const) {
    const command = serviceCommand(
      api,
      `${method.toLowerCase()} <path>`,
      `send a ${method} request and print the response`,
    );
    if (method === 'POST' || method === 'PATCH') {
      command
        .option('-d, --data <json>', 'request body: JSON, @file, or @- for standard input', '{}')
        .option('--idempotency-key <key>', 'default: a random one')
        .option('--dry-run', 'only check the write, and print what it would do');
    }
    command.addHelpText('after', examples).action((path: string, options: ApiOptions) =>
      withService(env, options, async ({ transport }) => {
        if (!path.startsWith('/'))
          throw new CommandFailure('The path must start with a slash, such as /v1/jobs.', 'usage');
        const body = options.data === undefined ? undefined : await readBody(options.data);
        const { idempotencyKey, dryRun } = options;
        const sent = dryRun ? `${path}${path.includes('?') ? '&' : '?'}dry_run=true` : path;
        printJson(await transport.request({ method, path: sent, body }, { idempotencyKey }));
      }),
    );
  }
}

const examples = `
Examples:
  $ chartwire api get /v1/providers
  $ chartwire api post /v1/patients/search -d '{"last_name": "Testpatient"}'
  $ chartwire api post /v1/patients -d @patient.json
`;

async function readBody(data: string): Promise<object> {
  const text = data.startsWith('@') ? await readData(data.slice(1)) : data;
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) return body;
  } catch {
    // The parser's error would quote the body.
  }
  throw new CommandFailure('--data must be a JSON object, or @ and the name of a file with one.', 'usage');
}

async function readData(file: string): Promise<string> {
  if (file === '-') return text(process.stdin);
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CommandFailure(`--data: cannot read the file ${file}.`, 'usage', { cause });
  });
}
