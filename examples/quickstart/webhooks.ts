/** Receives webhooks. Start it with the secret that `chartwire listen` prints. */
import { createServer } from 'node:http';
import { fromNodeRequest, verifyWebhook } from '@chartwire/client/webhooks';

createServer(async (request, response) => {
  try {
    const { body, headers } = await fromNodeRequest(request);
    const event = await verifyWebhook(body, headers, process.env.WEBHOOK_SECRET ?? '');
    process.stdout.write(`Verified ${event.type}\n`);
    response.writeHead(204).end();
  } catch {
    response.writeHead(400).end();
  }
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => process.stdout.write('Listening\n'));
