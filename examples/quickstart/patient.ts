/** Creates a patient and waits until the chart exists in the EMR. */
import { readFileSync } from 'node:fs';
import { Chartwire, JobFailedError } from '@chartwire/client';

// `npm start` writes this file. In production, take the credentials from your secret store.
const sandbox = JSON.parse(readFileSync(`${process.env.DATA_DIR ?? 'data'}/sandbox.json`, 'utf8'));
const client = new Chartwire({
  baseUrl: sandbox.base_url,
  clientId: sandbox.client_id,
  clientSecret: sandbox.client_secret,
  accessToken: sandbox.access_token,
});
const [first_name = 'Robin', last_name = 'Samplechart'] = process.argv.slice(2);
try {
  const event = await client.patients.createAndWait({ first_name, last_name, dob: '1990-01-31', sex: 'female' });
  process.stdout.write(`Created with MRN ${event.data.mrn}\n`);
} catch (error) {
  if (!(error instanceof JobFailedError)) throw error;
  process.stdout.write(`Not created (${error.code}): ${error.message}\n`);
}
