import { describe, expect, test } from 'vitest';
import { formatAddress, isInNetworks, parseNetwork } from '../../src/catalog/networks.ts';
import { loadConfig } from '../../src/catalog/settings/config.ts';

describe('a network that an operator enters', () => {
  test.each([
    ['10.0.0.0/8', '10.0.0.0/8'],
    ['203.0.113.7', '203.0.113.7'],
    ['203.0.113.7/32', '203.0.113.7'],
    ['203.0.113.128/25', '203.0.113.128/25'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    [' 2001:DB8::/32 ', '2001:db8::/32'],
    ['2001:db8:0:0::1', '2001:db8::1'],
    ['::/0', '::/0'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['::ffff:10.0.0.0/104', '10.0.0.0/8'],
  ])('%s is stored as %s', (text, network) => {
    expect(parseNetwork(text)).toStrictEqual({ network });
  });

  test.each([
    '',
    'x',
    '10.0.0',
    '010.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/08',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    '2001:db8::/129',
    'fe80::1%eth0',
    '*',
    'localhost',
  ])('%j is refused', (text) => {
    expect(parseNetwork(text)).toStrictEqual({
      refused: expect.stringMatching(/^must be addresses or networks such as/),
    });
  });

  test.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['203.0.113.200/25', '203.0.113.128/25'],
    ['2001:db8::1/32', '2001:db8::/32'],
    ['1.2.3.4/0', '0.0.0.0/0'],
  ])('%s is refused, because it names an address and allows its network %s', (text, network) => {
    expect(parseNetwork(text)).toStrictEqual({ refused: expect.stringContaining(`write ${network} for the network`) });
  });
});

describe('an address', () => {
  test.each([
    ['10.9.9.9', ['10.0.0.0/8'], true],
    ['11.0.0.1', ['10.0.0.0/8'], false],
    ['::ffff:10.9.9.9', ['10.0.0.0/8'], true],
    ['::ffff:a09:909', ['10.0.0.0/8'], true],
    ['10.9.9.9', ['::/0'], false],
    ['2001:db8::7', ['10.0.0.0/8', '2001:db8::/32'], true],
    ['2001:db9::7', ['2001:db8::/32'], false],
    ['fe80::1%eth0', ['fe80::/10'], true],
    ['203.0.113.7', ['203.0.113.7'], true],
    ['203.0.113.8', ['203.0.113.7'], false],
    ['10.9.9.9', [], false],
    ['', ['0.0.0.0/0', '::/0'], false],
    ['unknown', ['0.0.0.0/0', '::/0'], false],
  ])('%s in %j: %s', (address, networks, expected) => {
    expect(isInNetworks(address, networks)).toBe(expected);
  });

  test('is shown without its IPv6 form and without a zone', () => {
    expect(['::ffff:203.0.113.7', 'fe80::1%eth0', '2001:db8::1', 'unknown'].map(formatAddress)).toStrictEqual([
      '203.0.113.7',
      'fe80::1',
      '2001:db8::1',
      'unknown',
    ]);
  });
});

describe('the settings', () => {
  const sandbox = { SANDBOX: 'on' };

  test('read DASHBOARD_NETWORKS in one spelling, and refuse what is not a network', () => {
    const { dashboard_networks } = loadConfig({ ...sandbox, DASHBOARD_NETWORKS: '10.0.0.0/8, ::ffff:192.0.2.1' });
    expect(dashboard_networks).toStrictEqual(['10.0.0.0/8', '192.0.2.1']);
    expect(() => loadConfig({ ...sandbox, DASHBOARD_NETWORKS: '10.1.2.3/8' })).toThrow(
      /^DASHBOARD_NETWORKS must not have bits after the prefix: write 10\.0\.0\.0\/8 .*; not '10\.1\.2\.3\/8'\.$/,
    );
  });

  test('accept CLIENT_CERTIFICATE_HEADER only together with the proxies that may send it', () => {
    expect(() => loadConfig({ ...sandbox, CLIENT_CERTIFICATE_HEADER: 'x-client-certificate' })).toThrow(
      'CLIENT_CERTIFICATE_HEADER is set, so TRUSTED_PROXIES must be set too: anyone could send the header.',
    );
    const trusted = { ...sandbox, TRUSTED_PROXIES: '127.0.0.1' };
    expect(loadConfig({ ...trusted, CLIENT_CERTIFICATE_HEADER: 'Client-Cert' })).toMatchObject({
      client_certificate_header: 'client-cert',
    });
    expect(() => loadConfig({ ...trusted, CLIENT_CERTIFICATE_HEADER: 'two words' })).toThrow(
      /must be the name of a header/,
    );
  });
});
