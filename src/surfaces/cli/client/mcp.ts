import type { Command } from 'commander';
import type { Environment } from '../../../catalog/settings/settingValues.ts';
import { agent_user_agent } from '../../../catalog/version.ts';
import type { ToolOptions } from '../mcp/serveTools.ts';
import { readCount } from '../output.ts';
import { type ServiceOptions, withService } from './service.ts';

/** Below the minute that clients of the protocol wait for a tool. */
const default_wait_s = 45;

export function addMcp(program: Command, env: Environment): void {
  program
    .command('mcp')
    .description('serve the API as tools for AI agents (Model Context Protocol over stdio)')
    .option('--profile <name>', 'use the credentials of this profile')
    .option('--allow-writes', 'also offer tools that write; default: read-only')
    .option('--files <folder>', 'folder from which documents can be uploaded')
    .option('--wait <seconds>', 'how long a write waits for its outcome', readCount, default_wait_s)
    .addHelpText('after', help)
    .action((options: ServiceOptions & ToolOptions) =>
      // Loads the service's declarations and the protocol, which other commands do not need.
      withService(env, { ...options, user_agent: agent_user_agent }, async (service) =>
        (await import('../mcp/serveTools.ts')).serveTools(service, options),
      ),
    );
}

const help = `
Health data that the tools return goes to the model and its provider. Read docs/guides/agents.md first.

Example of a client's configuration:
  { "mcpServers": { "chartwire": { "command": "npx", "args": ["chartwire", "mcp"] } } }
`;
