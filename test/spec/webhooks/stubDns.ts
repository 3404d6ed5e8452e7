import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import { onTestFinished, vi } from 'vitest';

/**
 * Answers the look-ups of this process in place of DNS, for as long as the test lasts. A name's answers are given one
 * after the other, the last one again and again. Gives the names that were looked up.
 */
export function answerNames(names: Record<string, string[][]>): string[] {
  const asked: string[] = [];
  const lookup = async (name: string) => {
    const answers = names[name];
    if (!answers) throw Object.assign(new Error(`no such name: ${name}`), { code: 'ENOTFOUND' });
    const nth = asked.filter((each) => each === name).length;
    asked.push(name);
    const addresses = answers[Math.min(nth, answers.length - 1)] ?? [];
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  // The one form that the service asks in: all addresses of a name.
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(lookup as unknown as typeof dns.lookup);
  // Whoever imported the function by its name sees the change after this.
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return asked;
}
