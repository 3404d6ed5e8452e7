import { describe, expect, test } from 'vitest';
import { isPinned, matchHost, pinnedUrls, wildcardOf } from '../../src/connectors/endpointPins.ts';
import { nextUrl } from '../../src/connectors/fhir/transport/bundles.ts';
import { isBelowBase } from '../../src/connectors/fhir/transport/call.ts';

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
    expect(['127.0.0.1', '[::1]:80', 'example.org', 'localhost', '*.example.org'].map(wildcardOf)).toEqual([
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

  test('takes a tenant from single path segments only', () => {
    expect(pinnedUrls('https://a.example/{tenant}', 'https://h.example/x%2fy/../z/R4')).toEqual([
      'https://a.example/z',
      'https://a.example/R4',
    ]);
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
