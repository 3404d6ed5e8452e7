import { describe, expect, test } from 'vitest';
import { isPinned, matchHost, pinnedUrls, toWildcard } from '../../src/emr/endpointPins.ts';
import { isTrustedRevocation } from '../../src/emr/fhir/sign-in/authorizationServer.ts';
import { isBelowBase } from '../../src/emr/fhir/transport/call.ts';
import { nextUrl } from '../../src/emr/fhir/transport/search.ts';

describe('the hosts of an app', () => {
  test.each([
    ['https://emr.example.org/r4', ['emr.example.org'], 'exact'],
    ['https://EMR.example.org/r4', ['emr.example.org'], 'exact'],
    ['https://emr.example.org:8443/r4', ['emr.example.org'], undefined],
    ['https://emr.example.org:8443/r4', ['emr.example.org:8443'], 'exact'],
    ['https://emr.example.org/r4', ['*.example.org'], 'wildcard'],
    ['https://emr.example.org:8443/r4', ['*.example.org:8443'], 'wildcard'],
    ['https://a.emr.example.org/r4', ['*.example.org'], undefined],
    ['https://example.org/r4', ['*.example.org'], undefined],
    ['https://emr.example.org.evil.example/r4', ['*.example.org', 'emr.example.org'], undefined],
    ['http://127.0.0.1:8080/r4', ['127.0.0.1:8080'], 'exact'],
    ['http://127.0.0.1:8081/r4', ['127.0.0.1:8080', '127.0.0.1'], undefined],
  ] as const)('match %s against %o: %s', (address, hosts, expected) => {
    expect(matchHost(hosts, address)).toBe(expected);
  });

  test('have no wildcard for IP addresses and top-level domains', () => {
    expect(['127.0.0.1', '[::1]:80', 'example.org', 'localhost', '*.example.org'].map(toWildcard)).toEqual([
      ...Array<undefined>(5),
    ]);
  });
});

describe('an endpoint', () => {
  const base = 'https://emr.example.org/hospital/fhir/R4';

  test.each([
    ['same_host', 'https://emr.example.org/token', true],
    ['same_host', 'https://emr.example.org:8443/token', true],
    ['same_host', 'https://auth.example.org/token', false],
    ['same_host', 'http://emr.example.org/token', false],
    ['same_host', 'https://user@emr.example.org/token', false],
    ['https://auth.example.org/token', 'https://auth.example.org/token', true],
    ['https://auth.example.org/token', 'https://auth.example.org/token?tenant=x', false],
    ['https://auth.example.org/token', 'https://auth.example.org/other', false],
    ['https://{host}/oauth/token', 'https://emr.example.org/oauth/token', true],
    ['https://{host}/oauth/token', 'https://evil.example/oauth/token', false],
    ['https://auth.example.org/{tenant}/token', 'https://auth.example.org/hospital/token', true],
    ['https://auth.example.org/{tenant}/token', 'https://auth.example.org/other/token', false],
    ['https://auth.example.org/{tenant}/at/{host}', 'https://auth.example.org/hospital/at/emr.example.org', true],
  ])('pinned as %s may be %s: %s', (pin, endpoint, expected) => {
    expect(isPinned(pin, base, endpoint)).toBe(expected);
  });

  test('compares IP addresses by host and port', () => {
    expect(isPinned('same_host', 'http://127.0.0.1:1/r4', 'http://127.0.0.1:1/token')).toBe(true);
    expect(isPinned('same_host', 'http://127.0.0.1:1/r4', 'http://127.0.0.1:2/token')).toBe(false);
    expect(isPinned('same_host', 'http://localhost:1/r4', 'http://localhost:2/token')).toBe(false);
  });

  test.each([
    ['https://h.example/hospital/fhir/R4', null, 'hospital'],
    // Below the address of one tenant, another one cannot be named.
    ['https://h.example/evil/victim/fhir', null, 'evil'],
    ['https://h.example/r4/hospital', '/r4/{tenant}', 'hospital'],
    ['https://h.example/r4/evil/victim', '/r4/{tenant}', 'evil'],
    ['https://h.example/evil/victim', '/r4/{tenant}', undefined],
    ['https://h.example/R4/hospital', '/r4/{tenant}', undefined],
    ['https://h.example/r4', '/r4/{tenant}', undefined],
    ['https://h.example/x%2fy/../z/R4', null, 'z'],
    ['https://h.example/x%2fy/z', null, undefined],
    ['https://h.example//z', null, undefined],
    ['https://h.example/', null, undefined],
  ])('an endpoint at %s has the tenant at %s: %s', (address, tenant_path, tenant) => {
    const urls = pinnedUrls('https://a.example/{tenant}/token', address, tenant_path);
    expect(urls).toEqual(tenant === undefined ? [] : [`https://a.example/${tenant}/token`]);
  });
});

describe('a revocation endpoint', () => {
  const trusted = (token_endpoint: string, revocation_endpoint: string, pin?: string) => {
    const pins = { hosts: ['emr.example.org'], authorization_endpoint: null, issuer: null, tenant_path: null };
    const address = 'https://emr.example.org/hospital/R4';
    return isTrustedRevocation(
      { address, pins: pin === undefined ? undefined : { ...pins, token_endpoint: pin } },
      { token_endpoint, revocation_endpoint },
    );
  };

  test.each([
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org/oauth2/revoke', true],
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org/oauth2/evil/revoke', false],
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org/evil', false],
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org/oauth2/..%2fevil', false],
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org/oauth2/revoke?to=evil', false],
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org/oauth2/', false],
    ['https://auth.example.org/oauth2/token', 'https://auth.example.org:8443/oauth2/revoke', false],
    ['https://auth.example.org/token', 'https://auth.example.org/revoke', true],
    // On the host of the EMR, the first segment may be another tenant.
    ['https://emr.example.org/token', 'https://emr.example.org/evil', false],
    ['https://emr.example.org/oauth2/token', 'https://emr.example.org/oauth2/revoke', true],
  ])('a revocation endpoint of the pinned token endpoint %s may be %s: %s', (token, revocation, expected) => {
    expect(trusted(token, revocation, token)).toBe(expected);
  });

  test('may be anywhere below a token endpoint that only has to be on the same host', () => {
    const token = 'https://emr.example.org/token';
    for (const pin of [undefined, 'same_host']) {
      expect(trusted(token, 'https://emr.example.org/oauth2/revoke', pin)).toBe(true);
      expect(trusted(token, 'https://evil.example/revoke', pin)).toBe(false);
    }
  });
});

describe('a token', () => {
  const base = new URL('https://emr.example.org/hospital/R4');

  test.each([
    ['https://emr.example.org/hospital/R4/Patient', true],
    ['https://emr.example.org/hospital/R4?_getpages=1', true],
    ['https://emr.example.org/clinic/R4/Patient', false],
    ['https://emr.example.org/hospital/R4x/Patient', false],
    ['https://emr.example.org/hospital/R4/../../clinic/R4/Patient', false],
    ['https://emr.example.org/hospital/R4/..%2f..%2Fclinic/R4/Patient', false],
    ['https://emr.example.org/hospital/R4/%2e%2e%5c%2e%2e/clinic', false],
    ['https://emr.example.org:8443/hospital/R4/Patient', false],
    ['http://emr.example.org/hospital/R4/Patient', false],
  ])('is sent to %s: %s', (url, expected) => {
    expect(isBelowBase(base, new URL(url))).toBe(expected);
  });

  test('does not follow a list to another tenant of the same host', () => {
    const next = (url: string) =>
      nextUrl(base, { resourceType: 'Bundle', type: 'searchset', link: [{ relation: 'next', url }] })?.href;
    expect(next('Patient?page=2')).toBe('https://emr.example.org/hospital/R4/Patient?page=2');
    expect(next('https://internal.example/hospital/R4?page=2')).toBe('https://emr.example.org/hospital/R4?page=2');
    for (const elsewhere of [
      'https://emr.example.org/clinic/R4/Patient?page=2',
      'https://evil.example/Patient?page=2',
      'https://emr.example.org//evil.example/hospital/R4?page=2',
      '../../clinic/R4/Patient',
    ]) {
      expect(() => next(elsewhere), elsewhere).toThrow('continued a list at another address');
    }
  });
});
