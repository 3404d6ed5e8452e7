/** A test checks that it equals the version in package.json. */
export const version = '0.1.0';

/** How `chartwire mcp` names itself in its requests, so that the audit log tells what agents read. */
export const agent_user_agent = `chartwire-mcp/${version}`;
