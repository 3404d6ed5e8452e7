import { Alert, List, NativeSelect, PasswordInput, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { errorAt } from '../../parts/errors.tsx';
import type { ApiError } from '../../service/api.ts';
import type { EmrApp, EmrAppChoice, EmrPreset } from '../../service/types.ts';

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

/** What a form starts with: a stored app, or the preset of a vendor. */
type Start = Partial<
  Pick<
    EmrApp,
    | 'hosts'
    | 'token_endpoint'
    | 'tenant_path'
    | 'authorization_endpoint'
    | 'issuer'
    | 'scope'
    | 'search_params'
    | 'bulk_group'
    | 'requests_counted_per'
  >
> & { headers?: Record<string, string>; header_names?: string[] };

/** Where the app is used, and where its credentials go. */
export function Endpoints({
  way,
  error,
  app,
}: {
  way: Way | undefined;
  error: ApiError | null;
  app?: Start | undefined;
}) {
  const shown = (pin: string | null | undefined) => (pin === same_host ? '' : (pin ?? ''));
  return (
    <>
      <Textarea
        name="hosts"
        label="Hosts"
        description="One per line, such as emr.example.org or *.example.org (* stands for one label). A server that is linked can name any address as its token endpoint, so the credentials of this app are sent only for these hosts and only to the endpoints below"
        defaultValue={app?.hosts?.join('\n')}
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

/** What is sent with the app's requests. Few vendors need it, so it is folded unless something is set. */
export function RequestSettings({ error, app }: { error: ApiError | null; app?: Start | undefined }) {
  const stored = app?.header_names ?? [];
  const headers = Object.entries(app?.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  const named = app?.scope || app?.bulk_group || app?.requests_counted_per === 'app';
  const set = named || headers.length + stored.length > 0 || !isEmpty(app?.search_params);
  return (
    <details
      open={Boolean(set || errorAt(error, 'scope') || errorAt(error, 'headers') || errorAt(error, 'search_params'))}
    >
      <summary>Scopes, headers and search parameters</summary>
      <Stack gap="sm" mt="sm">
        <Textarea
          name="scope"
          label="Scopes (optional)"
          description="Requested exactly as written. Leave empty to request what the server lists"
          defaultValue={app?.scope ?? ''}
          autosize
          maxRows={4}
          error={errorAt(error, 'scope')}
        />
        <Textarea
          name="headers"
          label="Headers (optional)"
          description={
            stored.length > 0
              ? `Stored: ${stored.join(', ')}. Leave empty to keep them; a single dash removes them`
              : 'One per line, such as x-api-key: …. Sent with every request to the EMR, and stored encrypted'
          }
          defaultValue={headers.join('\n')}
          autosize
          autoComplete="off"
          error={errorAt(error, 'headers')}
        />
        <Textarea
          name="search_params"
          label="Search parameters (optional)"
          description="One per line, such as ah-practice=. Sent with every search. Without a value, each practice gives its own when it is linked"
          defaultValue={Object.entries(app?.search_params ?? {})
            .map(([name, value]) => `${name}=${value}`)
            .join('\n')}
          autosize
          error={errorAt(error, 'search_params')}
        />
        <TextInput
          name="bulk_group"
          label="Group for bulk export (optional)"
          description="ID of the FHIR Group that contains all patients. Lists that the server does not return completely are then read by bulk export"
          defaultValue={app?.bulk_group ?? ''}
          error={errorAt(error, 'bulk_group')}
        />
        <NativeSelect
          name="requests_counted_per"
          label="The vendor’s limit of requests is for"
          description="Requests beyond a limit that the EMR was seen to enforce wait for the next minute"
          data={[
            { value: 'address', label: 'each address' },
            { value: 'app', label: 'this app, at all of its addresses together' },
          ]}
          defaultValue={app?.requests_counted_per ?? 'address'}
          error={errorAt(error, 'requests_counted_per')}
        />
      </Stack>
    </details>
  );
}

function isEmpty(values: Record<string, string> | undefined): boolean {
  return Object.keys(values ?? {}).length === 0;
}

/** Headers that are not typed again stay as they are. */
export function requestSettingsIn(form: FormData) {
  const text = (name: string) => String(form.get(name) ?? '').trim();
  const headers = text('headers');
  return {
    scope: text('scope') || null,
    ...(headers !== '' && { headers: headers === '-' ? {} : readPairs(headers, ':') }),
    search_params: readPairs(text('search_params'), '='),
    bulk_group: text('bulk_group') || null,
    requests_counted_per: text('requests_counted_per') || 'address',
  };
}

/** One pair per line. A line without the separator is a name, which the service refuses with a reason. */
function readPairs(text: string, separator: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf(separator);
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}

/** What has to be done at the vendor before the app can be used. */
export function PresetSteps({ preset }: { preset: EmrPreset }) {
  return (
    <Alert color="blue" variant="light" title={`${preset.title}: what to register`}>
      <List type="ordered" size="sm" spacing={4}>
        {preset.steps.map((step) => (
          <List.Item key={step}>{step}</List.Item>
        ))}
      </List>
      <Text size="sm" mt="xs">
        Address to link: <code>{preset.address}</code>
      </Text>
      {preset.basis === 'documents' && (
        <Text size="sm" mt="xs" c="dimmed">
          From the vendor’s public documents, not yet seen on a live system.
        </Text>
      )}
    </Alert>
  );
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
