/** Writes all claims of an account to a CSV file. See README.md. */
import { readFileSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Chartwire, ChartwireError } from '@chartwire/client';

const columns = {
  claim: (claim) => claim.emr_claim_id,
  service_date: (claim) => claim.service_date,
  status: (claim) => claim.claim_status_description ?? claim.claim_status,
  patient: (claim) => claim.patient_name,
  provider: (claim) => claim.provider_name,
  diagnoses: (claim) => claim.icd_codes.join(' '),
  total_charge: (claim) => claim.total_charge,
  total_payment: (claim) => claim.total_payment,
  balance: (claim) => claim.balance,
  billing_notes: (claim) => claim.billing_notes,
};

try {
  const { values } = parseArgs({
    options: { from: { type: 'string' }, to: { type: 'string' }, out: { type: 'string', default: 'claims.csv' } },
  });
  const period = { ...(values.from && { start_date: values.from }), ...(values.to && { end_date: values.to }) };
  const { count, balance_cents } = await writeClaims(values.out, connect().claims.list({ page_size: 500, ...period }));
  process.stdout.write(`${count} claims, balance ${(balance_cents / 100).toFixed(2)}: ${values.out}\n`);
} catch (error) {
  if (!(error instanceof ChartwireError) && error.code === undefined) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** From the environment, else from the sandbox that `npm start` has prepared. */
function connect() {
  const { CHARTWIRE_BASE_URL, CHARTWIRE_CLIENT_ID, CHARTWIRE_CLIENT_SECRET, CHARTWIRE_ACCESS_TOKEN } = process.env;
  if (CHARTWIRE_BASE_URL) {
    return new Chartwire({
      baseUrl: CHARTWIRE_BASE_URL,
      clientId: CHARTWIRE_CLIENT_ID ?? '',
      clientSecret: CHARTWIRE_CLIENT_SECRET ?? '',
      accessToken: CHARTWIRE_ACCESS_TOKEN ?? '',
    });
  }
  const file = join(process.env.DATA_DIR ?? '../../data', 'sandbox.json');
  const sandbox = JSON.parse(readFileSync(file, 'utf8'));
  return new Chartwire({
    baseUrl: sandbox.base_url,
    clientId: sandbox.client_id,
    clientSecret: sandbox.client_secret,
    accessToken: sandbox.access_token,
  });
}

/** Written under another name first, so that the file is complete or absent. Only you can read it: it has health data. */
async function writeClaims(path, claims) {
  const unfinished = `${path}.${process.pid}.part`;
  const file = await open(unfinished, 'wx', 0o600);
  const seen = new Set();
  let balance_cents = 0;
  try {
    await file.write(formatLine(Object.keys(columns)));
    for await (const claim of claims) {
      // A claim that was added meanwhile moves others to the next page, where they appear again.
      if (seen.has(claim.id)) continue;
      seen.add(claim.id);
      // In cents: a sum of fractions is not exact.
      balance_cents += Math.round((claim.balance ?? 0) * 100);
      await file.write(formatLine(Object.values(columns).map((read) => read(claim))));
    }
    await file.close();
    await rename(unfinished, path);
  } catch (error) {
    await file.close();
    await rm(unfinished, { force: true });
    throw error;
  }
  return { count: seen.size, balance_cents };
}

/** As RFC 4180 has it: quotes are doubled, and lines end with CRLF. */
function formatLine(values) {
  return `${values.map((value) => `"${formatCell(value).replaceAll('"', '""')}"`).join(',')}\r\n`;
}

/**
 * Spreadsheets run a text as a formula if it starts with one of these characters; a leading apostrophe makes it text.
 * Numbers stay numbers, also negative ones.
 */
function formatCell(value) {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  return /^\s*[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
}
