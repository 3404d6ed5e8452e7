import { Secret, TOTP } from 'otpauth';
import { callControl, emr, fault_switches, type Switch } from './faultSwitches.ts';
import type { Sandbox } from './seedSandbox.ts';

export type SandboxState = {
  /** The URL of the practice's screens. */
  clinic_url: string;
  clinic_name: string;
  /** The client that the sandbox created; the others cannot open the practice's screens. */
  client_id: string;
  /** `once`: it affects one request and then turns off. */
  switches: (Pick<Switch, 'id' | 'group' | 'label' | 'description'> & { on: boolean; once: boolean })[];
  /** Faults that were set by other means, such as a test. */
  other_faults: number;
  staff: { user_name: string; password: string; role: string; code: string; locked_until: string | null }[];
  /** How long the codes are valid. */
  seconds_left: number;
};

/** Controls the reference EMR for the Sandbox page. It uses Larkspur's control API; the control token stays here. */
export type SandboxEmr = {
  describe(): Promise<SandboxState>;
  /** Returns false if there is no such switch. */
  setFault(switch_id: string, to: 'on' | 'once' | 'off'): Promise<boolean>;
  clearFaults(): Promise<void>;
  expireSessions(mode: 'session' | 'link'): Promise<void>;
  lock(user_name: string, locked: boolean): Promise<void>;
  reset(): Promise<void>;
  /** The sample write of the Sandbox page. */
  first: { access_token: string; call: Record<FirstField, string> };
};
type FirstField = 'patient_mrn' | 'provider_id' | 'location_id' | 'assigned_to_id' | 'reason' | 'caller' | 'message';

type Fault = { fault_id: number; operation: string; kind: string; times: number };
type Control = <T>(method: string, path: string, body?: unknown) => Promise<T>;

/** In practice unlimited. */
const always = 1_000_000;
const code_period_s = 30;

export function createSandboxEmr({ larkspur, client_id, access_token, example }: Sandbox): SandboxEmr {
  const control: Control = (method, path, body) => callControl(larkspur, method, path, body);
  const { pharmacy_ehr_id: _pharmacy, ...ids } = example;
  const text = { reason: 'First call', caller: 'Test caller', message: 'Hello from Chartwire' };
  return {
    describe: async () => ({ client_id, ...(await describe(control, larkspur)) }),
    setFault: async (switch_id, to) => {
      const chosen = fault_switches.find(({ id }) => id === switch_id);
      if (!chosen) return false;
      for (const { fault_id } of matching(chosen, await listFaults(control)))
        await control('DELETE', `/control/faults/${fault_id}`);
      if (to !== 'off') {
        await control('POST', '/control/faults', { ...chosen.fault, times: to === 'once' ? 1 : always });
      }
      return true;
    },
    clearFaults: () => control('DELETE', '/control/faults'),
    expireSessions: (mode) => control('POST', '/control/sessions/expire', { mode }),
    lock: (user_name, locked) =>
      locked
        ? control('POST', '/control/lockouts', { user_name })
        : control('DELETE', `/control/lockouts/${encodeURIComponent(user_name)}`),
    reset: () => control('POST', '/control/reset'),
    first: { access_token, call: { ...ids, ...text } },
  };
}

async function describe(
  control: Control,
  { url, staff }: Sandbox['larkspur'],
): Promise<Omit<SandboxState, 'client_id'>> {
  const faults = await listFaults(control);
  const { lockouts } = await control<{ lockouts: { user_name: string; locked_until: string }[] }>(
    'GET',
    '/control/lockouts',
  );
  const switches = fault_switches.map((each) => {
    const own = matching(each, faults);
    const { id, group, label, description } = each;
    return {
      id,
      group,
      label,
      description,
      on: own.length > 0,
      once: own.length > 0 && own.every(({ times }) => times === 1),
    };
  });
  return {
    clinic_url: url,
    clinic_name: emr,
    switches,
    other_faults: faults.filter((fault) => !fault_switches.some((each) => matching(each, [fault]).length > 0)).length,
    staff: staff.map(({ username, password, role, totp_secret }) => ({
      user_name: username,
      password,
      role,
      code: new TOTP({ secret: Secret.fromBase32(totp_secret) }).generate(),
      locked_until: lockouts.find(({ user_name }) => user_name === username.toLowerCase())?.locked_until ?? null,
    })),
    seconds_left: code_period_s - (Math.floor(Date.now() / 1000) % code_period_s),
  };
}

async function listFaults(control: Control): Promise<Fault[]> {
  return (await control<{ faults: Fault[] }>('GET', '/control/faults')).faults;
}

function matching({ fault }: Switch, faults: Fault[]): Fault[] {
  return faults.filter(({ operation, kind }) => operation === fault.operation && kind === fault.kind);
}
