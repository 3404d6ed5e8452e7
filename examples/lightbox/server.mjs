/** A small application that links EMR accounts. Run `npm start` first, then `node examples/lightbox/server.mjs`. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const port = Number(process.env.EXAMPLE_PORT ?? 4200);
const sandbox = JSON.parse(readFileSync(join(process.env.DATA_DIR ?? 'data', 'sandbox.json'), 'utf8'));
const headers = { client_id: sandbox.client_id, client_secret: sandbox.client_secret };
const page = readFileSync(new URL('index.html', import.meta.url), 'utf8').replaceAll('{base_url}', sandbox.base_url);

const routes = {
  'GET /': () => ({ type: 'text/html; charset=utf-8', body: page }),
  // Step 1: create a link token. The credentials never reach the browser.
  'POST /link-token': async (_url, { hosted }) => {
    const body = {
      user_id: 'example-user',
      org_id: 'example-practice',
      emr_name: 'larkspur',
      emr_instance_domain: sandbox.larkspur.url,
      ...(hosted && { callback_url: `http://127.0.0.1:${port}/callback` }),
    };
    return json(await call('/link/token/create', { method: 'POST', body: JSON.stringify(body) }));
  },
  // Step 3: exchange the public token. The access token stays on the server.
  'POST /linked': async (_url, { public_token }) => json(await exchange(public_token)),
  'GET /callback': async (url) => {
    const { providers } = await exchange(url.searchParams.get('token'));
    return { type: 'text/plain; charset=utf-8', body: `Linked. Providers so far: ${providers}.\n` };
  },
};

createServer(async (request, response) => {
  const url = new URL(request.url, `http://127.0.0.1:${port}`);
  try {
    const body = request.method === 'POST' ? JSON.parse(Buffer.concat(await request.toArray())) : {};
    const result = await routes[`${request.method} ${url.pathname}`]?.(url, body);
    response.writeHead(result ? 200 : 404, { 'content-type': result?.type ?? 'text/plain' }).end(result?.body);
  } catch (error) {
    response.writeHead(502, { 'content-type': 'application/json' }).end(JSON.stringify({ message: error.message }));
  }
}).listen(port, '127.0.0.1', () => {
  process.stdout.write(`Open http://127.0.0.1:${port}\n`);
  const [person] = sandbox.larkspur.staff;
  process.stdout.write(`Sign in as ${person.username} / ${person.password}; codes: ${sandbox.larkspur.url}/codes\n`);
});

async function exchange(public_token) {
  const { token } = await call(`/link/token/exchange?public_token=${encodeURIComponent(public_token ?? '')}`);
  // Your application stores the access token here. The first sync is still running.
  const { providers } = await call('/v1/providers', { headers: { access_token: token } });
  return { linked: true, providers: providers.length };
}

async function call(path, options = {}) {
  const response = await fetch(sandbox.base_url + path, {
    ...options,
    headers: { ...headers, ...options.headers, ...(options.body && { 'content-type': 'application/json' }) },
  });
  const body = await response.json();
  if (!response.ok) throw new Error(body.message);
  return body;
}

function json(value) {
  return { type: 'application/json', body: JSON.stringify(value) };
}
