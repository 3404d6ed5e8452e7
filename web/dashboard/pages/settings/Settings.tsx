import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { Client } from './Client.tsx';
import { Clients } from './Clients.tsx';
import { Encryption } from './Encryption.tsx';
import { Me } from './Me.tsx';
import { Operators } from './Operators.tsx';
import { Retention } from './Retention.tsx';

const places: { path: string; label: string; shown: ReactNode }[] = [
  { path: '/clients', label: 'Clients', shown: <Clients /> },
  { path: '/operators', label: 'Operators', shown: <Operators /> },
  { path: '/encryption', label: 'Encryption', shown: <Encryption /> },
  { path: '/retention', label: 'Retention', shown: <Retention /> },
  { path: '/me', label: 'Your account', shown: <Me /> },
];

export default function Settings() {
  const [location, go] = useLocation();
  const here = places.find(({ path }) => location === path || location.startsWith(`${path}/`));
  return (
    <>
      <PageTitle>Settings</PageTitle>
      <Tabs value={here?.path ?? null} onChange={(path) => path && go(path)} mb="md">
        <Tabs.List aria-label="Settings">
          {places.map(({ path, label }) => (
            <Tabs.Tab key={path} value={path}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {here && (
          <Tabs.Panel value={here.path} pt="md">
            <Switch>
              <Route path="/clients/:client">{({ client }) => <Client key={client} client_id={client} />}</Route>
              <Route>{here.shown}</Route>
            </Switch>
          </Tabs.Panel>
        )}
      </Tabs>
      {!here && <Redirect replace to="/clients" />}
    </>
  );
}
