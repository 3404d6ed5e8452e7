import { Group, NativeSelect, Paper, PasswordInput, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import { ActionMenu } from '../../parts/ActionMenu.tsx';
import { type Column, DataTable } from '../../parts/DataTable.tsx';
import { errorAt } from '../../parts/errors.tsx';
import { FormDialog } from '../../parts/FormDialog.tsx';
import { LogoField } from '../../parts/LogoField.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Copyable } from '../../parts/values.tsx';
import { type ApiError, call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { EmrApp, EmrAppChoice } from '../../service/types.ts';
import { MrnFields } from '../accounts/ServerSettings.tsx';

/** The registrations of a client at EMRs. With one, clinic staff see one button in Link instead of a form. */
export function EmrApps({ client_id }: { client_id: string }) {
  const { may } = useSession();
  const query = useQuery('emr-apps.list', { client_id });
  return (
    <Paper withBorder p="md" component="section" aria-label="EMR apps">
      <QueryResult query={query}>
        {({ emr_apps, emrs }) => (
          <>
            <Group justify="space-between" mb="xs">
              <Title order={3} size="h4">
                EMR apps
              </Title>
              {may('owner') && <AddApp client_id={client_id} emrs={emrs} />}
            </Group>
            <Text size="sm" c="dimmed" mb="sm">
              Client IDs issued to you by EMRs. With them, clinic staff connect in one click instead of entering
              credentials.
            </Text>
            <DataTable
              label="EMR apps"
              rows={emr_apps}
              columns={columnsFor(client_id, emrs, may('owner'))}
              keyOf={(app) => app.id}
              empty="No EMR apps yet. Link asks clinic staff for the client ID until you add one."
            />
          </>
        )}
      </QueryResult>
    </Paper>
  );
}

function columnsFor(client_id: string, emrs: EmrAppChoice[], owner: boolean): Column<EmrApp>[] {
  return [
    { head: 'Name', cell: (app) => app.name },
    { head: 'EMR', cell: (app) => app.emr_name },
    { head: 'Address', cell: (app) => app.emr_address ?? 'Default for all addresses' },
    { head: 'Sign-in method', cell: (app) => wayOf(emrs, app)?.label ?? app.way },
    { head: 'Client ID', cell: (app) => app.values.client_id ?? '' },
    { head: 'ID', cell: (app) => <Copyable label="EMR app ID" value={app.id} />, phone: 'line' },
    { head: 'Accounts', cell: (app) => app.accounts },
    ...(owner
      ? [
          {
            head: 'Actions',
            cell: (app: EmrApp) => (
              <Group gap="xs" wrap="nowrap">
                <EditApp client_id={client_id} emrs={emrs} app={app} />
                <ActionMenu label={`More actions for ${app.name}`}>
                  <FormDialog
                    opener="Delete"
                    title={`Delete ${app.name}`}
                    submit="Delete"
                    danger
                    action={() => call('emr-apps.delete', { client_id, app_id: app.id })}
                  >
                    <Text size="sm">Link asks for a client ID again when a new account is linked at this address.</Text>
                  </FormDialog>
                </ActionMenu>
              </Group>
            ),
          },
        ]
      : []),
  ];
}

function AddApp({ client_id, emrs }: { client_id: string; emrs: EmrAppChoice[] }) {
  const [first] = emrs;
  const [emr, setEmr] = useState(first?.emr ?? '');
  const [way, setWay] = useState(first?.ways[0]?.name ?? '');
  const [logo, setLogo] = useState<string | null>(null);
  const chosen = emrs.find((each) => each.emr === emr);
  return (
    <FormDialog
      opener="Add EMR app"
      title="Add EMR app"
      submit="Add"
      action={async (form) => {
        const address = String(form.get('emr_address')).trim();
        const body = {
          name: String(form.get('name')),
          logo,
          emr,
          emr_address: address || null,
          credentials: credentialsIn(form, chosen, way),
          ...mrnIn(form, chosen),
        };
        await call('emr-apps.create', { client_id }, { body });
        // The next app starts without it.
        setLogo(null);
      }}
    >
      {(error) => (
        <>
          <NameInput error={error} />
          {emrs.length > 1 && (
            <NativeSelect
              label="EMR"
              value={emr}
              onChange={(event) => setEmr(event.currentTarget.value)}
              data={emrs.map((each) => ({ value: each.emr, label: each.emr_name }))}
            />
          )}
          <TextInput
            name="emr_address"
            label="Address"
            description="Base URL of the EMR. Leave empty to use this app for every address that does not have its own"
            error={errorAt(error, 'emr_address')}
          />
          <LogoField value={logo} onChange={setLogo} error={errorAt(error, 'logo')} />
          <Credentials emr={chosen} way={way} onWay={setWay} error={error} />
          {chosen?.has_mrn_rule && <MrnFields error={error} />}
        </>
      )}
    </FormDialog>
  );
}

function EditApp({ client_id, emrs, app }: { client_id: string; emrs: EmrAppChoice[]; app: EmrApp }) {
  const emr = emrs.find((each) => each.emr === app.emr);
  const [way, setWay] = useState(app.way);
  const [logo, setLogo] = useState(app.logo);
  return (
    <FormDialog
      opener="Edit"
      title={`Edit ${app.name}`}
      submit="Save"
      action={(form) => {
        const credentials = credentialsIn(form, emr, way);
        const body = { name: String(form.get('name')), logo, credentials, ...mrnIn(form, emr) };
        return call('emr-apps.update', { client_id, app_id: app.id }, { body });
      }}
    >
      {(error) => (
        <>
          <NameInput error={error} value={app.name} />
          <LogoField value={logo} onChange={setLogo} error={errorAt(error, 'logo')} />
          <Credentials emr={emr} way={way} onWay={setWay} error={error} app={app} />
          {emr?.has_mrn_rule && <MrnFields setting={app} error={error} />}
        </>
      )}
    </FormDialog>
  );
}

function NameInput({ error, value }: { error: ApiError | null; value?: string }) {
  return (
    <TextInput
      name="name"
      label="Name"
      description="Shown in Link, for example the name of the clinic or EMR"
      defaultValue={value}
      required
      maxLength={100}
      error={errorAt(error, 'name')}
      data-autofocus
    />
  );
}

function Credentials({
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
        return (
          <Input
            key={`${way} ${name}`}
            name={name}
            label={label}
            description={secret && stored ? 'Leave empty to keep the current one' : undefined}
            defaultValue={stored ? (app.values[name] ?? '') : ''}
            required={!optional && !(secret && stored)}
            autoComplete="off"
            error={errorAt(error, `credentials.${name}`)}
          />
        );
      })}
    </>
  );
}

/** The method and the fields that were filled in. */
function credentialsIn(form: FormData, emr: EmrAppChoice | undefined, way: string): Record<string, string> {
  const fields = emr?.ways.find(({ name }) => name === way)?.fields ?? [];
  const values = fields.map(({ name }) => [name, String(form.get(name) ?? '').trim()] as const);
  return { way, ...Object.fromEntries(values.filter(([, value]) => value !== '')) };
}

/** Which identifier is the MRN, as far as it was filled in. */
function mrnIn(form: FormData, emr: EmrAppChoice | undefined) {
  const text = (name: string) => String(form.get(name) ?? '').trim() || null;
  return emr?.has_mrn_rule ? { mrn_system: text('mrn_system'), mrn_type: text('mrn_type') } : {};
}

function wayOf(emrs: EmrAppChoice[], { emr, way }: EmrApp) {
  return emrs.find((each) => each.emr === emr)?.ways.find(({ name }) => name === way);
}
