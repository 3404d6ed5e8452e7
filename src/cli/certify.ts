import { readFile } from 'node:fs/promises';
import { certify } from '../certification/certify.ts';
import { formatReport } from '../certification/report.ts';
import type { Config } from '../config.ts';
import type { Connector, Credentials } from '../connectors/connector.ts';
import { connectors } from '../connectors/index.ts';
import { StartFailure } from '../errors.ts';
import { createOutbound } from '../security/outbound.ts';

type Values = {
  address?: string | undefined;
  'credentials-file'?: string | undefined;
  'one-time-code'?: string | undefined;
  'patient-mrn'?: string | undefined;
  'write-synthetic-records'?: boolean | undefined;
};

/**
 * Tries a connector on a live EMR and prints a score card. It reads; it writes only where it was told to, and then only
 * records that are plainly synthetic. Neither the card nor the progress shows a value of a record.
 */
export async function certifyCommand(config: Config, name: string | undefined, values: Values): Promise<void> {
  const { connector, address, credentials } = await readValues(name, values);
  const writes = values['write-synthetic-records'] ?? false;
  process.stdout.write(announcement(new URL(address).host, writes, values['patient-mrn']));
  const outbound = createOutbound({ sandbox: config.sandbox, allow: config.outbound_allow });
  try {
    const verdicts = await certify({
      connector,
      address,
      credentials,
      one_time_code: () => values['one-time-code'],
      outbound,
      writes,
      patient_mrn: values['patient-mrn'],
    });
    process.stdout.write(`\n${formatReport(connector.display_name, verdicts)}`);
    if (verdicts.some(({ outcome }) => outcome === 'broken')) process.exitCode = 1;
  } finally {
    await outbound.close();
  }
}

function announcement(host: string, writes: boolean, patient_mrn: string | undefined): string {
  if (!writes) return `Reads from ${host} and writes nothing. To try writes too: --write-synthetic-records\n`;
  const chart = patient_mrn === undefined ? 'charts of their own' : 'the chart that was named';
  return `Writes synthetic records into ${host}: patients called Certification-Testpatient, and appointments, insurances,
documents and calls in ${chart}. They stay there. Not for an EMR in which people are treated.\n`;
}

async function readValues(
  name: string | undefined,
  values: Values,
): Promise<{ connector: Connector; address: string; credentials: Credentials }> {
  const connector = connectors.get(name ?? '');
  if (!connector) {
    throw new StartFailure(`Which connector? One of: ${[...connectors.keys()].join(', ')}. See: chartwire help`);
  }
  const { address, 'credentials-file': file } = values;
  if (address === undefined || !URL.canParse(address)) {
    throw new StartFailure('--address must be the address of the EMR, with https://.');
  }
  if (file === undefined)
    throw new StartFailure('--credentials-file must name a JSON file with what is signed in with.');
  return { connector, address, credentials: await readCredentials(file) };
}

/** From a file, because what stands in a command line is seen by everybody on the machine. */
async function readCredentials(file: string): Promise<Credentials> {
  try {
    const parsed: unknown = JSON.parse(await readFile(file, 'utf8'));
    const texts = Object.entries(parsed ?? {}).filter((pair): pair is [string, string] => typeof pair[1] === 'string');
    if (texts.length > 0) return Object.fromEntries(texts);
  } catch {
    // The parser's error would quote what stands in the file.
  }
  throw new StartFailure(`--credentials-file: ${file} is not a JSON object of texts, such as {"username":"…"}.`);
}
