/** Runs the certification checks against the server of this folder, in this process: `npm run certify`. */
import { certify, createOutbound, formatReport } from '@chartwire/connector/certification';
import connector from './dist/index.js';
import { startServer, user } from './server/server.mjs';

const server = await startServer(0);
// As the service's own client, but this machine is allowed.
const outbound = createOutbound({ sandbox: true, allow: [] });
const results = await certify(
  {
    connector,
    address: server.url,
    credentials: { username: user.username, password: user.password },
    outbound,
    writes: true,
    endSession: async () => server.endSessions(),
    endLink: async () => server.changePassword(),
  },
  // The checks that are named, such as: npm run certify -- sign_in
  process.argv.slice(2),
);
process.stdout.write(formatReport(connector.display_name, results));
if (results.some(({ outcome }) => outcome === 'failed')) process.exitCode = 1;
await outbound.close();
await server.close();
