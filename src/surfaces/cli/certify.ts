import { StartFailure } from '../../catalog/errors.ts';
import type { Config } from '../../catalog/settings/config.ts';
import { certify } from '../../emr/certification/certify.ts';
import { type CertificationTarget, fail } from '../../emr/certification/environment.ts';
import { formatReport } from '../../emr/certification/report.ts';
import type { Connector, Credentials, EmrEndpoint } from '../../emr/connector.ts';
import { same_host } from '../../emr/endpointPins.ts';
import { loadConnectors } from '../../emr/outside/outsideConnectors.ts';
import { type GivenSettings, missingParams, practiceParams, type SearchConstants } from '../../emr/requestSettings.ts';
import { emrRules, syntaxRefusal } from '../../platform/security/addresses.ts';
import { createOutbound } from '../../platform/security/outbound.ts';
import { clientKeys } from '../../platform/security/signingKeys.ts';
import { withCertificates } from '../../product/accounts/appCertificates.ts';
import { type EmrApp, matchEmrApps, toEndpoint } from '../../product/accounts/emrApps.ts';
import { checkRequestSettings } from '../../product/link/requestSettings.ts';
import { findClient, withAudit } from './audit.ts';
import { type AppFields, readCredentialsFile } from './credentialsFile.ts';
import { type JsonOption, printResult } from './output.ts';
import { default_redirect_uri, startSignInPage } from './signInPage.ts';

type Values = JsonOption & {
  address?: string | undefined;
  'credentials-file'?: string | undefined;
  client?: string | undefined;
  'one-time-code'?: string | undefined;
  'patient-mrn'?: string | undefined;
  'merged-mrn'?: string | undefined;
  'write-synthetic-records'?: boolean | undefined;
  'empty-lists'?: string | undefined;
  only?: string | undefined;
  'redirect-uri'?: string | undefined;
  'visit-type'?: readonly string[] | undefined;
};

/**
 * Runs the certification checks against a live EMR and prints a report. Without --write-synthetic-records it only reads;
 * with it, it writes synthetic records only. The report contains no value of a record.
 */
export async function certifyCommand(config: Config, name: string | undefined, values: Values): Promise<void> {
  const { connectors } = await loadConnectors(config);
  const checked = await readValues(connectors, name, values);
  if (values.client === undefined) return certifyWith(config, values, checked);
  // Open until the end, because a key is read whenever something is signed.
  await withAudit(config, async (db, _audit, { vault }) => {
    const client_id = await findClient(db, values.client);
    const emr = { connector: checked.connector.name, emr_address: checked.address.replace(/\/+$/, '') };
    const apps = await db.tenant(client_id, (tx) => matchEmrApps({ vault }, tx, emr));
    const app = apps.find(({ credentials }) => credentials.client_id === checked.credentials.client_id);
    const search_params = practiceParams(app?.search_params ?? {}, checked.requests.search_params ?? {});
    requireValues(search_params);
    const { pins, ...requests } = app ? toEndpoint(app, search_params) : {};
    await certifyWith(config, values, {
      ...{ ...checked, keys: clientKeys({ db, vault }, client_id) },
      ...{ pins: checked.pins ?? pins, requests: { ...requests, ...checked.requests, search_params }, app },
    });
  });
}

type Checked = {
  connector: Connector;
  address: string;
  credentials: Credentials;
  keys?: EmrEndpoint['keys'];
  pins?: EmrEndpoint['pins'];
  requests: GivenSettings;
  /** Its certificates are used. */
  app?: EmrApp | undefined;
};

async function certifyWith(
  config: Config,
  values: Values,
  { connector, address, credentials, keys, pins, requests, app }: Checked,
): Promise<void> {
  const way = connector.sign_in_ways?.find(({ name }) => name === credentials.way);
  if (way?.must_register === 'key_set' && !keys) {
    throw new StartFailure('--client must name the client whose signing keys the EMR knows.');
  }
  const writes = values['write-synthetic-records'] ?? false;
  // Not part of the result, which programs read from the standard output.
  const announced = values.json ? process.stderr : process.stdout;
  announced.write(announcement(new URL(address).host, writes, values['patient-mrn']));
  const page = way?.on_page ? await openSignInPage(values, announced) : undefined;
  const outbound = createOutbound(emrRules(config));
  try {
    const target: CertificationTarget = {
      connector,
      address,
      credentials,
      keys,
      pins,
      requests,
      one_time_code: () => values['one-time-code'],
      outbound: app ? withCertificates(outbound, address, app) : outbound,
      writes,
      patient_mrn: values['patient-mrn'],
      merged_mrn: values['merged-mrn'],
      empty_lists: values['empty-lists']?.split(',').map((name) => name.trim()) ?? [],
      ...page?.target,
      visit_types: readVisitTypes(connector, values['visit-type']),
    };
    const results = await certify(target, values.only === undefined ? [] : [values.only]);
    const passed = results.every(({ outcome }) => outcome !== 'failed');
    const checks = results.map(({ check, outcome, reason, took_ms }) => ({
      ...{ check: check.id, expectation: check.expectation, outcome, reason, took_ms },
    }));
    printResult(values, { passed, checks }, `\n${formatReport(connector.display_name, results)}`);
    if (!passed) process.exitCode = 1;
  } finally {
    await page?.close();
    await outbound.close();
  }
}

/** A person signs in, whose browser comes back to this command. */
async function openSignInPage(
  { 'redirect-uri': return_address = default_redirect_uri }: Values,
  announced: NodeJS.WritableStream,
): Promise<{
  target: Pick<CertificationTarget, 'signInOnPage' | 'return_address' | 'signs_in_once'>;
  close: () => Promise<void>;
}> {
  const show = (text: string) => void announced.write(text);
  const { open, close } = await startSignInPage(return_address, { input: process.stdin, show });
  const signInOnPage = async (url: string) => (await open(url)) ?? fail('nobody signed in on the page');
  return { target: { signInOnPage, return_address, signs_in_once: true }, close };
}

/** `5, Office visit, 15`: its code, its description and, if it has one, its length. As in the dashboard. */
function readVisitTypes(
  { set_visit_types, display_name }: Connector,
  lines: readonly string[] = [],
): CertificationTarget['visit_types'] {
  if (lines.length > 0 && !set_visit_types) throw new StartFailure(`--visit-type: ${display_name} lists its own.`);
  return lines.map((line) => {
    const [, code, description, minutes] = /^\s*([^,]+?)\s*,\s*(.+?)\s*(?:,\s*(\d{1,4})\s*)?$/.exec(line) ?? [];
    if (code === undefined || description === undefined)
      throw new StartFailure(
        "--visit-type must be a code, a description and its minutes, such as '5, Office visit, 15'.",
      );
    const refusal = set_visit_types?.refuseCode(code);
    if (refusal !== undefined) throw new StartFailure(`--visit-type: the code ${refusal}`);
    return { code, description, minutes: minutes === undefined ? null : Number(minutes) };
  });
}

function announcement(host: string, writes: boolean, patient_mrn: string | undefined): string {
  if (!writes) return `Reads from ${host} and writes nothing. To check writes too, add --write-synthetic-records.\n`;
  const chart = patient_mrn === undefined ? 'their charts' : 'the given chart';
  return `Writes synthetic records to ${host}: patients named Certification-Testpatient, with appointments, insurances,
documents and calls in ${chart}. They are not deleted. Do not use this on an EMR with real patients.\n`;
}

async function readValues(
  connectors: ReadonlyMap<string, Connector>,
  name: string | undefined,
  values: Values,
): Promise<Checked> {
  const connector = connectors.get(name ?? '');
  if (!connector) {
    throw new StartFailure(`Specify a connector: ${[...connectors.keys()].join(', ')}. See: chartwire help`);
  }
  const { address, 'credentials-file': file } = values;
  if (address === undefined) throw new StartFailure('--address must be the URL of the EMR, starting with https://.');
  const refused = syntaxRefusal(address);
  if (refused !== undefined) throw new StartFailure(`--address ${refused}`);
  const { credentials, fields } = await readCredentialsFile(file);
  return { connector, address, credentials, ...toSettings(new URL(address).host, fields) };
}

/** As an EMR app with these fields would send its requests. */
function toSettings(host: string, fields: AppFields): Pick<Checked, 'pins' | 'requests'> {
  const { hosts, token_endpoint, authorization_endpoint, issuer, tenant_path, ...sent } = fields;
  const checked = checkRequestSettings(sent);
  requireValues(checked.search_params);
  const requests = Object.fromEntries(Object.entries(checked).filter(([name]) => name in sent));
  const pins = {
    hosts: hosts ?? [host],
    token_endpoint: token_endpoint ?? same_host,
    authorization_endpoint: authorization_endpoint ?? null,
    ...{ issuer: issuer ?? null, tenant_path: tenant_path ?? null },
  };
  const given = [hosts, token_endpoint, authorization_endpoint, issuer, tenant_path].some((each) => each != null);
  return { requests, ...(given && { pins }) };
}

/** An app leaves open what names the practice. Without it, a search would find the records of all practices. */
function requireValues(search_params: SearchConstants): void {
  const [missing] = missingParams({}, search_params);
  if (missing !== undefined)
    throw new StartFailure(
      `--credentials-file: search_params must have a value for ${missing}, which names the practice.`,
    );
}
