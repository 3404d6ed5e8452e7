import { Secret, TOTP } from 'otpauth';
import { apiError } from '../errors.ts';
import type { SandboxState } from '../model/dashboard/sandbox.ts';
import { fault_switches, type Switch } from './faultSwitches.ts';
import type { Sandbox } from './laySandbox.ts';

/** The reference EMR as an operator plays with it: by its control API, over HTTP, with a token that stays here. */
export type Clinic = {
  describe(): Promise<SandboxState>;
  /** False when there is no such switch. */
  turn(switch_id: string, to: 'on' | 'once' | 'off'): Promise<boolean>;
  clearFaults(): Promise<void>;
  expireSessions(mode: 'session' | 'link'): Promise<void>;
  lock(user_name: string, locked: boolean): Promise<void>;
  reset(): Promise<void>;
  /** A first write: through which account, and what. */
  first: { access_token: string; call: Record<FirstField, string> };
};
type FirstField = 'patient_mrn' | 'provider_id' | 'location_id' | 'assigned_to_id' | 'reason' | 'caller' | 'message';

type Fault = { fault_id: number; operation: string; kind: string; times: number };
type Ask = <Answer>(method: string, path: string, body?: unknown) => Promise<Answer>;

const emr = 'Larkspur';
/** More than anybody will meet before it is switched off. */
const always = 1_000_000;
const code_period_s = 30;
/** A reset lays the whole practice anew, which takes a second or two. */
const patience_ms = 30_000;

export function openClinic({ larkspur, access_token, example }: Sandbox): Clinic {
  const ask: Ask = (method, path, body) => askControl(larkspur, method, path, body);
  const { pharmacy_ehr_id: _pharmacy, ...ids } = example;
  const said = { reason: 'First call', caller: 'A newcomer', message: 'Hello from Chartwire' };
  return {
    describe: () => describe(ask, larkspur),
    turn: async (switch_id, to) => {
      const chosen = fault_switches.find(({ id }) => id === switch_id);
      if (!chosen) return false;
      for (const { fault_id } of of(chosen, await faults(ask))) await ask('DELETE', `/control/faults/${fault_id}`);
      if (to !== 'off') await ask('POST', '/control/faults', { ...chosen.fault, times: to === 'once' ? 1 : always });
      return true;
    },
    clearFaults: () => ask('DELETE', '/control/faults'),
    expireSessions: (mode) => ask('POST', '/control/sessions/expire', { mode }),
    lock: (user_name, locked) =>
      locked
        ? ask('POST', '/control/lockouts', { user_name })
        : ask('DELETE', `/control/lockouts/${encodeURIComponent(user_name)}`),
    reset: () => ask('POST', '/control/reset'),
    first: { access_token, call: { ...ids, ...said } },
  };
}

async function describe(ask: Ask, { url, staff }: Sandbox['larkspur']): Promise<SandboxState> {
  const set = await faults(ask);
  const { lockouts } = await ask<{ lockouts: { user_name: string; locked_until: string }[] }>(
    'GET',
    '/control/lockouts',
  );
  const switches = fault_switches.map((each) => {
    const own = of(each, set);
    const { id, label, description } = each;
    return {
      id,
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
    other_faults: set.filter((fault) => !fault_switches.some((each) => of(each, [fault]).length > 0)).length,
    staff: staff.map(({ username, role, totp_secret }) => ({
      user_name: username,
      role,
      code: new TOTP({ secret: Secret.fromBase32(totp_secret) }).generate(),
      locked_until: lockouts.find(({ user_name }) => user_name === username.toLowerCase())?.locked_until ?? null,
    })),
    seconds_left: code_period_s - (Math.floor(Date.now() / 1000) % code_period_s),
  };
}

async function faults(ask: Ask): Promise<Fault[]> {
  return (await ask<{ faults: Fault[] }>('GET', '/control/faults')).faults;
}

function of({ fault }: Switch, set: Fault[]): Fault[] {
  return set.filter(({ operation, kind }) => operation === fault.operation && kind === fault.kind);
}

async function askControl<Answer>(
  { url, control_token }: Sandbox['larkspur'],
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  let answer: Response;
  try {
    answer = await fetch(url + path, {
      method,
      headers: {
        'control-token': control_token,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patience_ms),
    });
  } catch (cause) {
    throw apiError('emr_unavailable', { emr }, { cause });
  }
  if (!answer.ok) throw new Error(`The control API answered ${method} ${path} with ${answer.status}.`);
  // The control API is another house's; its answers have the fields that docs/larkspur.md lists.
  return (await answer.json()) as Answer;
}
