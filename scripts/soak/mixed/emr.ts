/** Runs Larkspur alone, so that it outlives the processes of the service and can be killed like them. */
import { startLarkspur } from '../../../larkspur/start.ts';
import { parseDatabaseUrl } from '../../../src/platform/db/openServer.ts';

const { LARKSPUR_DATABASE_URL = '', LARKSPUR_PORT = '' } = process.env;
const database = parseDatabaseUrl('LARKSPUR_DATABASE_URL', LARKSPUR_DATABASE_URL);
const larkspur = await startLarkspur({ database, host: '127.0.0.1', port: Number(LARKSPUR_PORT) });
process.on('SIGTERM', async () => {
  await larkspur.close();
  process.exit();
});
process.stdout.write(`${larkspur.url} is ready\n`);
