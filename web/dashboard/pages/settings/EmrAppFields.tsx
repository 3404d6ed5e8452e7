import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { errorAt } from '../../parts/errors.tsx';
import type { ApiError } from '../../service/api.ts';
import type { EmrApp, EmrAppChoice } from '../../service/types.ts';

export function NameInput({ error, value }: { error: ApiError | null; value?: string }) {
  return (
    <TextInput
      name="name"
      label="Name"
      description="Shown in Link, for example the name of the practice or EMR"
      defaultValue={value}
      required
      maxLength={100}
      error={errorAt(error, 'name')}
      data-autofocus
    />
  );
}

export function Credentials({
  emr,
  way,
  onWay,
  error,
  app,
}: {
  emr: EmrAppChoice | undefined;
  way: string;
  onWay: (way: string) => void;
  error: ApiError | null;
  app?: EmrApp;
}) {
  const chosen = emr?.ways.find(({ name }) => name === way);
  return (
    <>
      <NativeSelect
        label="Sign-in method"
        description={chosen?.about}
        value={way}
        onChange={(event) => onWay(event.currentTarget.value)}
        data={(emr?.ways ?? []).map(({ name, label }) => ({ value: name, label }))}
        error={errorAt(error, 'credentials.way')}
      />
      {chosen?.fields.map(({ name, label, secret, optional }) => {
        const stored = app?.way === way && app.values[name] !== undefined;
        const Input = secret ? PasswordInput : TextInput;
        const later = name === 'client_id' && chosen.registers;
        return (
          <Input
            key={`${way} ${name}`}
            name={name}
            label={label}
            description={
              later
                ? 'Leave empty until the EMR has issued it. The URL to register is shown after saving'
                : secret && stored
                  ? 'Leave empty to keep the current one, unless the client ID changes'
                  : undefined
            }
            defaultValue={stored ? (app.values[name] ?? '') : ''}
            required={!optional && !later && !(secret && stored)}
            autoComplete="off"
            error={errorAt(error, `credentials.${name}`)}
          />
        );
      })}
    </>
  );
}

/** Where the app is used, and where its credentials go. */
export function Endpoints({ way, error, app }: { way: Way | undefined; error: ApiError | null; app?: EmrApp }) {
  const shown = (pin: string | null | undefined) => (pin === same_host ? '' : (pin ?? ''));
  return (
    <>
      <Textarea
        name="hosts"
        label="Hosts"
        description="One per line, such as emr.example.org or *.example.org (* stands for one label). A server that is linked can name any address as its token endpoint, so the credentials of this app are sent only for these hosts and only to the endpoints below"
        defaultValue={app?.hosts.join('\n')}
        required
        autosize
        minRows={2}
        error={errorAt(error, 'hosts')}
      />
      <TextInput
        name="token_endpoint"
        label="Token endpoint"
        description="Leave empty if it is on the same host. Otherwise a URL, such as https://auth.example.org/{tenant}/token, where {host} and {tenant} are the host and the tenant of the EMR’s address"
        defaultValue={shown(app?.token_endpoint)}
        error={errorAt(error, 'token_endpoint')}
      />
      <TextInput
        name="tenant_path"
        label="Tenant path (optional)"
        description="Where {tenant} is in the path of the EMR’s address, such as /r4/{tenant}. Leave empty if it is the first part"
        defaultValue={app?.tenant_path ?? ''}
        error={errorAt(error, 'tenant_path')}
      />
      {way?.on_page && (
        <>
          <TextInput
            name="authorization_endpoint"
            label="Authorization endpoint"
            description="The EMR’s sign-in page, in the same form. Leave empty if it is on the same host"
            defaultValue={shown(app?.authorization_endpoint)}
            error={errorAt(error, 'authorization_endpoint')}
          />
          <TextInput
            name="issuer"
            label="Issuer (optional)"
            description="Only if the EMR’s issuer is not on the host of its sign-in page"
            defaultValue={app?.issuer ?? ''}
            error={errorAt(error, 'issuer')}
          />
        </>
      )}
    </>
  );
}

export function endpointsIn(form: FormData, way: Way | undefined) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  return {
    hosts: text('hosts')
      .split(/[\s,]+/)
      .filter((host) => host !== ''),
    token_endpoint: text('token_endpoint') || same_host,
    tenant_path: text('tenant_path') || null,
    ...(way?.on_page && {
      authorization_endpoint: text('authorization_endpoint') || same_host,
      issuer: text('issuer') || null,
    }),
  };
}

type Way = EmrAppChoice['ways'][number];

export function wayNamed(emr: EmrAppChoice | undefined, way: string): Way | undefined {
  return emr?.ways.find(({ name }) => name === way);
}

/** The method and the fields that were filled in. */
export function credentialsIn(form: FormData, emr: EmrAppChoice | undefined, way: string): Record<string, string> {
  const fields = emr?.ways.find(({ name }) => name === way)?.fields ?? [];
  const values = fields.map(({ name }) => [name, String(form.get(name) ?? '').trim()] as const);
  return { way, ...Object.fromEntries(values.filter(([, value]) => value !== '')) };
}

/** Which identifier is the MRN, as far as it was filled in. */
export function mrnIn(form: FormData, emr: EmrAppChoice | undefined) {
  const text = (name: string) => String(form.get(name) ?? '').trim() || null;
  return emr?.has_mrn_rule ? { mrn_system: text('mrn_system'), mrn_type: text('mrn_type') } : {};
}

export function describePin(pin: string): string {
  return pin === same_host ? 'on the same host' : pin;
}

/** The value for an endpoint that is on the EMR's own host. */
const same_host = 'same_host';
