import { expect, test } from 'vitest';
import { loadConfig } from '../../src/catalog/settings/config.ts';
import type { EmrPreset } from '../../src/emr/connector.ts';
import { matchHost, pinnedUrls, same_host } from '../../src/emr/endpointPins.ts';
import { connectors } from '../../src/emr/index.ts';
import { checkNewApp } from '../../src/product/link/registrations.ts';

const presets = connectors.get('fhir')?.presets ?? [];
const config = loadConfig({
  ...{ BASE_URL: 'https://chartwire.example.org', SANDBOX: 'off', MASTER_KEY: 'ab'.repeat(32) },
});

/** The app that a form makes of a preset, with what an owner fills in. */
function toApp({ name, way, hosts, headers, token_endpoint, ...preset }: EmrPreset) {
  const host = name === 'canvas' ? 'fumage-hillside.canvasmedical.com' : 'emr.hillside.example.org';
  const { scope, search_params, bulk_group, requests_counted_per, tenant_path } = preset;
  return checkNewApp(
    { config, connectors },
    {
      name: preset.title,
      emr: 'fhir',
      hosts: hosts.length > 0 ? [...hosts] : [host],
      token_endpoint: token_endpoint.replace('<instance>', 'hillside'),
      ...{ tenant_path, scope, search_params, bulk_group, requests_counted_per },
      headers: Object.fromEntries(Object.keys(headers).map((header) => [header, 'synthetic-key'])),
      credentials: { way, client_id: 'synthetic', ...(way === 'client_secret' && { client_secret: 'synthetic' }) },
    },
  );
}

test('there is a preset for each of the ten vendors, and each says where it is known from', () => {
  expect(presets.map(({ name }) => name)).toStrictEqual([
    ...['epic', 'oracle', 'athenahealth', 'eclinicalworks', 'nextgen', 'meditech', 'veradigm', 'modmed'],
    ...['advancedmd', 'canvas'],
  ]);
  for (const { basis, steps, address } of presets) {
    expect(['documents', 'seen']).toContain(basis);
    expect(steps.length).toBeGreaterThan(1);
    expect(address).toMatch(/^https:\/\//);
  }
});

test.each(presets.map((preset) => [preset.name, preset] as const))(
  '%s: the preset makes a valid app',
  (_name, preset) => {
    const app = toApp(preset);
    expect(app.registered).toBe(true);
    expect(app.scope).toBe(preset.scope);
    expect(app.token_endpoint).toBe(preset.token_endpoint.replace('<instance>', 'hillside'));
    // What the vendor publishes as an example of its addresses.
    const address = preset.address.replace(/<[^>]+>/g, 'hillside').replace('/…', '/interconnect');
    if (preset.hosts.length > 0) expect(matchHost(app.hosts, address)).toBe('exact');
    if (app.token_endpoint !== same_host) {
      expect(pinnedUrls(app.token_endpoint, address, app.tenant_path)).toHaveLength(1);
    }
  },
);

test('each sandbox has a token endpoint that its address leads to', () => {
  for (const { sandbox, token_endpoint, tenant_path } of presets) {
    const pin = sandbox?.token_endpoint ?? token_endpoint;
    if (sandbox && pin !== same_host) expect(pinnedUrls(pin, sandbox.address, tenant_path)).toHaveLength(1);
  }
});

test('only the app of a vendor that counts per key has a budget of its own', () => {
  const counted = presets.filter(({ requests_counted_per }) => requests_counted_per === 'app').map(({ name }) => name);
  expect(counted).toStrictEqual(['modmed']);
});
