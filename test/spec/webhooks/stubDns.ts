import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished, vi } from 'vitest';

/**
 * Replaces DNS lookups of this process until the test finishes. The results of a name are returned in turn, the last one
 * repeatedly. Returns the names that were looked up.
 */
export function stubDns(names: Record<string, string[][]>): string[] {
  const lookups: string[] = [];
  const lookup = async (name: string) => {
    const results = names[name];
    if (!results) throw Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' });
    const nth = lookups.filter((each) => each === name).length;
    lookups.push(name);
    const addresses = results[Math.min(nth, results.length - 1)] ?? [];
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  // The service only uses the form that returns all addresses of a name.
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
  // Updates modules that imported the function by name.
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return lookups;
}
