import { Badge, Group, NativeSelect, Paper, Stack, Text, Title } from '@mantine/core';
import { Fragment, useState } from 'react';
import { errorAt } from '../../parts/errors.tsx';
import { ActionMenu } from '../../parts/forms/ActionMenu.tsx';
import { FormDialog } from '../../parts/forms/FormDialog.tsx';
import { LogoField } from '../../parts/forms/LogoField.tsx';
import { type Column, DataTable } from '../../parts/lists/DataTable.tsx';
import { QueryResult } from '../../parts/QueryResult.tsx';
import { Timestamp } from '../../parts/Timestamp.tsx';
import { Copyable } from '../../parts/values.tsx';
import { call } from '../../service/api.ts';
import { useQuery } from '../../service/queries.ts';
import { useSession } from '../../service/session.tsx';
import type { EmrApp, EmrAppChoice, EmrPreset } from '../../service/types.ts';
import { MrnFields } from '../accounts/ServerSettings.tsx';
import { Certificates, certificatesIn } from './EmrAppCertificates.tsx';
import {
  Credentials,
  credentialsIn,
  describePin,
  Endpoints,
  endpointsIn,
  mrnIn,
  NameInput,
  PresetSteps,
  RequestSettings,
  requestSettingsIn,
  wayNamed,
} from './EmrAppFields.tsx';

/** The registrations of a client at EMRs. With one, practice staff see one button in Link instead of a form. */
export function EmrApps({ client_id }: { client_id: string }) {
  const { may } = useSession();
  const query = useQuery('emr-apps.list', { client_id });
  return (
    <Paper withBorder p="md" component="section" aria-label="EMR apps">
      <QueryResult query={query}>
        {({ emr_apps, emrs, presets }) => (
          <>
            <Group justify="space-between" mb="xs">
              <Title order={3} size="h4">
                EMR apps
              </Title>
              {may('owner') && <AddApp client_id={client_id} emrs={emrs} presets={presets} />}
            </Group>
            <Text size="sm" c="dimmed" mb="sm">
              Client IDs issued to you by EMRs. With them, practice staff connect in one click instead of entering
              credentials.
            </Text>
            <DataTable
              label="EMR apps"
              rows={emr_apps}
              columns={columnsFor(client_id, emrs, may('owner'))}
              rowKey={(app) => app.id}
              empty="No EMR apps yet. Until you add one, Link asks practice staff for the client ID, and signing keys cannot be used."
            />
          </>
        )}
      </QueryResult>
    </Paper>
  );
}

function columnsFor(client_id: string, emrs: EmrAppChoice[], owner: boolean): Column<EmrApp>[] {
  return [
    {
      head: 'Name',
      cell: (app) => (
        <Group gap="xs">
          {app.name}
          {!app.registered && (
            <Badge color="orange" variant="light">
              No client ID yet
            </Badge>
          )}
        </Group>
      ),
    },
    { head: 'EMR', cell: (app) => app.emr_name },
    { head: 'Hosts', cell: (app) => <Hosts app={app} /> },
    { head: 'Sign-in method', cell: (app) => findWay(emrs, app)?.label ?? app.way },
    { head: 'Client ID', cell: (app) => app.values.client_id ?? '' },
    {
      head: 'ID and URLs',
      cell: (app) => (
        <>
          <Urls app={app} />
          {app.key_set_url && <KeyFetches app={app} />}
        </>
      ),
      phone: 'line',
    },
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
                    <Text size="sm">Link asks for a client ID again when a new account is linked at these hosts.</Text>
                  </FormDialog>
                </ActionMenu>
              </Group>
            ),
          },
        ]
      : []),
  ];
}

function Hosts({ app }: { app: EmrApp }) {
  return (
    <div className="own-id">
      {app.hosts.join(', ') || 'None: this app is not used'}
      <div className="secondary">Token endpoint: {describePin(app.token_endpoint)}</div>
      {app.authorization_endpoint !== null && (
        <div className="secondary">Sign-in page: {describePin(app.authorization_endpoint)}</div>
      )}
    </div>
  );
}

/** What the EMR's administrator has to register, and the app's own id. */
function Urls({ app }: { app: Pick<EmrApp, 'id' | 'key_set_url' | 'redirect_uri'> }) {
  const values = [
    ['Key set URL (JWKS)', app.key_set_url],
    ['Redirect URI', app.redirect_uri],
    ['EMR app ID', app.id],
  ] as const;
  return (
    <Stack gap={4}>
      {values.map(
        ([label, value]) =>
          value && (
            <div key={label}>
              <Text size="xs" c="dimmed">
                {label}
              </Text>
              <Copyable label={label} value={value} />
            </div>
          ),
      )}
    </Stack>
  );
}

/** An EMR that never fetches the keys cannot accept a sign-in. */
function KeyFetches({ app: { key_fetches, keys_fetched_at } }: { app: EmrApp }) {
  return (
    <Text size="xs" c="dimmed" mt={4}>
      {keys_fetched_at === null ? (
        'Nobody has fetched the keys yet'
      ) : (
        <>
          Keys fetched {key_fetches === 1 ? 'once' : `${key_fetches} times`}, last <Timestamp at={keys_fetched_at} />
        </>
      )}
    </Text>
  );
}

function AddApp({ client_id, emrs, presets }: { client_id: string; emrs: EmrAppChoice[]; presets: EmrPreset[] }) {
  const [first] = emrs;
  const [emr, setEmr] = useState(first?.emr ?? '');
  const [way, setWay] = useState(first?.ways[0]?.name ?? '');
  const [logo, setLogo] = useState<string | null>(null);
  const [preset, setPreset] = useState<EmrPreset>();
  const choosePreset = (name: string) => {
    const next = presets.find((each) => each.name === name);
    setPreset(next);
    if (!next) return;
    setEmr(next.emr);
    setWay(next.way);
  };
  const chosen = emrs.find((each) => each.emr === emr);
  return (
    <FormDialog
      opener="Add EMR app"
      title="Add EMR app"
      submit="Add"
      action={async (form) => {
        const body = {
          name: String(form.get('name')),
          logo,
          emr,
          ...endpointsIn(form, wayNamed(chosen, way)),
          ...requestSettingsIn(form),
          ...certificatesIn(form),
          credentials: credentialsIn(form, chosen, way),
          ...mrnIn(form, chosen),
        };
        const added = await call('emr-apps.create', { client_id }, { body });
        // The next app starts without it.
        setLogo(null);
        return added;
      }}
      done={(app) => (
        <>
          <Text size="sm">
            {app.key_set_url || app.redirect_uri
              ? 'Added. Register this URL with the EMR. If the EMR has not issued a client ID yet, add it under Edit.'
              : 'Added.'}
          </Text>
          <Urls app={app} />
        </>
      )}
    >
      {(error) => (
        <>
          <NameInput error={error} />
          <NativeSelect
            label="Vendor"
            description="Fills in what is known about the vendor"
            value={preset?.name ?? ''}
            onChange={(event) => choosePreset(event.currentTarget.value)}
            data={[
              { value: '', label: 'Another one' },
              ...presets.map(({ name, title }) => ({ value: name, label: title })),
            ]}
          />
          {preset && <PresetSteps preset={preset} />}
          {emrs.length > 1 && (
            <NativeSelect
              label="EMR"
              value={emr}
              onChange={(event) => setEmr(event.currentTarget.value)}
              data={emrs.map((each) => ({ value: each.emr, label: each.emr_name }))}
            />
          )}
          <LogoField value={logo} onChange={setLogo} error={errorAt(error, 'logo')} />
          <Credentials emr={chosen} way={way} onWay={setWay} error={error} />
          <Fragment key={preset?.name ?? ''}>
            <Endpoints way={wayNamed(chosen, way)} error={error} app={preset} />
            <RequestSettings error={error} app={preset} />
          </Fragment>
          <Certificates error={error} />
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
        const endpoints = endpointsIn(form, wayNamed(emr, way));
        const requests = requestSettingsIn(form);
        const body = {
          name: String(form.get('name')),
          logo,
          credentials,
          ...endpoints,
          ...requests,
          ...certificatesIn(form),
          ...mrnIn(form, emr),
        };
        return call('emr-apps.update', { client_id, app_id: app.id }, { body });
      }}
    >
      {(error) => (
        <>
          <NameInput error={error} value={app.name} />
          <LogoField value={logo} onChange={setLogo} error={errorAt(error, 'logo')} />
          <Credentials emr={emr} way={way} onWay={setWay} error={error} app={app} />
          <Endpoints way={wayNamed(emr, way)} error={error} app={app} />
          <RequestSettings error={error} app={app} />
          <Certificates error={error} app={app} />
          {emr?.has_mrn_rule && <MrnFields setting={app} error={error} />}
        </>
      )}
    </FormDialog>
  );
}

function findWay(emrs: EmrAppChoice[], { emr, way }: EmrApp) {
  return wayNamed(
    emrs.find((each) => each.emr === emr),
    way,
  );
}
