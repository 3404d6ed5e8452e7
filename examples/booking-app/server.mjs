/** A small application that links an EMR account, books appointments and handles webhooks. See README.md. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Chartwire, ChartwireError } from '@chartwire/client';
import { fromNodeRequest, verifyWebhook, WebhookVerificationError } from '@chartwire/client/webhooks';

const port = Number(process.env.EXAMPLE_PORT ?? 4300);
const address = `http://127.0.0.1:${port}`;
const sandbox = JSON.parse(readFileSync(join(process.env.DATA_DIR ?? '../../data', 'sandbox.json'), 'utf8'));
const client = new Chartwire({
  baseUrl: sandbox.base_url,
  clientId: sandbox.client_id,
  clientSecret: sandbox.client_secret,
});
const page = readFileSync(new URL('index.html', import.meta.url), 'utf8').replaceAll('{base_url}', sandbox.base_url);
const link_module = readFileSync(fileURLToPath(import.meta.resolve('@chartwire/client/link')), 'utf8');

// Your application has a database for these. Encrypt the access token there: it opens the charts of the practice.
/** The linked account. */
let account;
/** The outcome of each appointment by id. An event can arrive before the response to the request that caused it. */
const outcomes = new Map();
/** Events that were handled: one is sent again if its response was lost. */
const handled = new Set();

const webhook_secret = await registerWebhook(`${address}/webhooks`);

const routes = {
  'GET /': () => ({ type: 'text/html; charset=utf-8', body: page }),
  'GET /link.js': () => ({ type: 'text/javascript; charset=utf-8', body: link_module }),

  // The browser opens Link with this token. The client secret stays here.
  'POST /api/link-token': async () => {
    const { token } = await client.link.token.create({
      user_id: 'booking-user',
      org_id: 'booking-practice',
      emr_name: 'larkspur',
      emr_instance_domain: sandbox.larkspur.url,
    });
    return result({ token });
  },
  // Link returned a public token, which is exchanged for the access token once.
  'POST /api/linked': async ({ body }) => {
    const { token } = await client.link.token.exchange({ public_token: body.public_token });
    account = client.forAccount(token);
    return result({ linked: true });
  },

  'GET /api/times': async ({ query }) => {
    const { results, timezone, sync } = await linked().availability.list({
      start_date: query.date,
      end_date: query.date,
      calculation_method: 'equal_slots',
      max_slot_duration: 30,
    });
    const times = results.availability.map(({ range_start, provider_id, provider_name, facility_id }) => ({
      start: range_start,
      provider: provider_id,
      provider_name,
      location: facility_id,
    }));
    return result({ times, timezone, sync });
  },
  'POST /api/appointments': async ({ body }) => {
    const { mrn, start, provider, location, type, key } = body;
    const appointment = { mrn, provider, location, type, datetime: start, prevent_double_booking: 'true' };
    // The page makes the key together with the form, so that a double click books once.
    const { appointment_id } = await linked().appointments.create(appointment, { idempotencyKey: key });
    return result({ appointment_id, ...findOutcome(appointment_id) });
  },
  'GET /api/appointments': ({ query }) => result(findOutcome(query.id)),

  'POST /webhooks': async ({ request }) => {
    const { body, headers } = await fromNodeRequest(request);
    handle(await verifyWebhook(body, headers, webhook_secret));
    return { status: 204 };
  },
};

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, address);
  const { status, type, body } = await respond(request, pathname, Object.fromEntries(searchParams)).catch(errorResult);
  response.writeHead(status ?? 200, type ? { 'content-type': type } : {}).end(body);
});
server.listen(port, '127.0.0.1', () => {
  const [person] = sandbox.larkspur.staff;
  process.stdout.write(`Open ${address}\n`);
  process.stdout.write(`Sign in as ${person.username} / ${person.password}; codes: ${sandbox.larkspur.url}/codes\n`);
});

async function respond(request, pathname, query) {
  const route = routes[`${request.method} ${pathname}`];
  if (!route) return result({ message: 'Not found.' }, 404);
  if (request.method === 'GET') return route({ query });
  // The raw body of a webhook is verified; everything else is JSON from our own page.
  if (pathname === '/webhooks') return route({ request });
  if (request.headers.origin !== address) return result({ message: 'The request is not from this page.' }, 403);
  return route({ body: await json(request) });
}

/** A new start gets a new secret: only the response to a registration contains it. */
async function registerWebhook(webhook_url) {
  const { webhook_urls } = await client.webhook.list();
  for (const { id, url } of webhook_urls) if (url === webhook_url) await client.webhook.delete(id);
  const event_types = ['appointment.created', 'appointment.failed', 'login_required'];
  const { webhook_secret } = await client.webhook.create({ webhook_url, event_types });
  return webhook_secret;
}

function handle(event) {
  if (handled.has(event.id)) return;
  handled.add(event.id);
  switch (event.type) {
    case 'appointment.created':
      outcomes.set(event.data.appointment_id, { status: 'booked', start: event.data.date_time });
      break;
    case 'appointment.failed':
      outcomes.set(event.data.appointment_id, { status: 'failed', reason: event.data.failure_reason });
      break;
    case 'login_required':
      // Requests fail with LoginRequiredError from here on. Ask the person to link again.
      account = undefined;
      break;
  }
}

function findOutcome(appointment_id) {
  return outcomes.get(appointment_id) ?? { status: 'waiting' };
}

function linked() {
  if (!account) throw new ChartwireError('Connect the EMR first.', { status: 409 });
  return account;
}

function result(value, status = 200) {
  return { status, type: 'application/json', body: JSON.stringify(value) };
}

function errorResult(error) {
  if (error instanceof WebhookVerificationError || error instanceof SyntaxError) {
    return result({ message: error.message }, 400);
  }
  if (!(error instanceof ChartwireError)) {
    process.stderr.write(`${error.stack}\n`);
    return result({ message: 'The application has a bug.' }, 500);
  }
  // 4xx: the request of our page does not fit. Everything else is between us and the service.
  const status = error.status >= 400 && error.status < 500 ? error.status : 502;
  return result({ message: error.message, field: error.field, request_id: error.requestId }, status);
}
