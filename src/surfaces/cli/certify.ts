import { readFile } from 'node:fs/promises';
import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { certify } from '../../emr/certification/certify.ts';
import { formatReport } from '../../emr/certification/report.ts';
import type { Connector, Credentials, EmrEndpoint } from '../../emr/connector.ts';
import { connectors } from '../../emr/index.ts';
import { emrRules, syntaxRefusal } from '../../platform/security/addresses.ts';
import { createOutbound } from '../../platform/security/outbound.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import { matchEmrApps } from '../../product/accounts/emrApps.ts';
import { findClient, withAudit } from './audit.ts';
import { type JsonOption, printResult } from './output.ts';

type Values = JsonOption & {
  address?: string | undefined;
  'credentials-file'?: string | undefined;
  client?: string | undefined;
  'one-time-code'?: string | undefined;
  'patient-mrn'?: string | undefined;
  'write-synthetic-records'?: boolean | undefined;
  'empty-lists'?: string | undefined;
  only?: string | undefined;
};

/**
 * Runs the certification checks against a live EMR and prints a report. Without --write-synthetic-records it only reads;
 * with it, it writes synthetic records only. The report contains no value of a record.
 */
export async function certifyCommand(config: Config, name: string | undefined, values: Values): Promise<void> {
  const checked = await readValues(name, values);
  if (values.client === undefined) return certifyWith(config, values, checked);
  // Open until the end, because a key is read whenever something is signed.
  await withAudit(config, async (db, _audit, { vault }) => {
    const client_id = await findClient(db, values.client);
    const emr = { connector: checked.connector.name, emr_address: checked.address.replace(/\/+$/, '') };
    const apps = await db.tenant(client_id, (tx) => matchEmrApps({ vault }, tx, emr));
    const pins = apps.find(({ credentials }) => credentials.client_id === checked.credentials.client_id);
    await certifyWith(config, values, { ...checked, keys: clientKeys({ db, vault }, client_id), pins });
  });
}

type Checked = { connector: Connector; address: string; credentials: Credentials } & Pick<EmrEndpoint, 'keys' | 'pins'>;

async function certifyWith(
  config: Config,
  values: Values,
  { connector, address, credentials, keys, pins }: Checked,
): Promise<void> {
  const way = connector.sign_in_ways?.find(({ name }) => name === credentials.way);
  if (way?.must_register === 'key_set' && !keys) {
    throw new StartFailure('--client must name the client whose signing keys the EMR knows.');
  }
  const writes = values['write-synthetic-records'] ?? false;
  // Not part of the result, which programs read from the standard output.
  const announced = values.json ? process.stderr : process.stdout;
  announced.write(announcement(new URL(address).host, writes, values['patient-mrn']));
  const outbound = createOutbound(emrRules(config));
  try {
    const target = {
      connector,
      address,
      credentials,
      keys,
      pins,
      one_time_code: () => values['one-time-code'],
      outbound,
      writes,
      patient_mrn: values['patient-mrn'],
      empty_lists: values['empty-lists']?.split(',').map((name) => name.trim()) ?? [],
    };
    const results = await certify(target, values.only === undefined ? [] : [values.only]);
    const passed = results.every(({ outcome }) => outcome !== 'failed');
    const checks = results.map(({ check, outcome, reason, took_ms }) => ({
      ...{ check: check.id, expectation: check.expectation, outcome, reason, took_ms },
    }));
    printResult(values, { passed, checks }, `\n${formatReport(connector.display_name, results)}`);
    if (!passed) process.exitCode = 1;
  } finally {
    await outbound.close();
  }
}

function announcement(host: string, writes: boolean, patient_mrn: string | undefined): string {
  if (!writes) return `Reads from ${host} and writes nothing. To check writes too, add --write-synthetic-records.\n`;
  const chart = patient_mrn === undefined ? 'their charts' : 'the given chart';
  return `Writes synthetic records to ${host}: patients named Certification-Testpatient, with appointments, insurances,
documents and calls in ${chart}. They are not deleted. Do not use this on an EMR with real patients.\n`;
}

async function readValues(
  name: string | undefined,
  values: Values,
): Promise<{ connector: Connector; address: string; credentials: Credentials }> {
  const connector = connectors.get(name ?? '');
  if (!connector) {
    throw new StartFailure(`Specify a connector: ${[...connectors.keys()].join(', ')}. See: chartwire help`);
  }
  const { address, 'credentials-file': file } = values;
  if (address === undefined) throw new StartFailure('--address must be the URL of the EMR, starting with https://.');
  const refused = syntaxRefusal(address);
  if (refused !== undefined) throw new StartFailure(`--address ${refused}`);
  if (file === undefined) throw new StartFailure('--credentials-file must be a JSON file with the credentials.');
  return { connector, address, credentials: await readCredentials(file) };
}

/** From a file, because command lines are visible to every user of the machine. */
async function readCredentials(file: string): Promise<Credentials> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, 'utf8'));
    const texts = Object.entries(parsed ?? {}).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
    if (texts.length > 0) return Object.fromEntries(texts);
  } catch {
    // The parser's error would quote the file.
  }
  throw new StartFailure(`--credentials-file: ${file} is not a JSON object of strings, such as {"username":"…"}.`);
}
