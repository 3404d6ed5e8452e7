import type { Sandbox } from './seedSandbox.ts';

/** The content of sandbox.json. Undefined if it is damaged, or if another version of the service wrote it. */
export function parseSandbox(text: string): Sandbox | undefined {
  try {
    const sandbox: Partial<Sandbox> = JSON.parse(text);
    const { base_url, larkspur, example } = sandbox;
    // Written in one piece: a file with these parts has the others too.
    return base_url && larkspur?.url && example ? (sandbox as Sandbox) : undefined;
  } catch {
    return undefined;
  }
}
