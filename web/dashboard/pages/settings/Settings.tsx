import { Tabs } from '@mantine/core';
import type { ReactNode } from 'react';
import { Redirect, Route, Switch, useLocation } from 'wouter';
import { PageTitle } from '../../parts/layout.tsx';
import { useCurrentInView } from '../../parts/lists/useCurrentInView.ts';
import { useSession } from '../../service/session.tsx';
import { Access, AccessReview } from './AccessReview.tsx';
import { Alerts } from './Alerts.tsx';
import { MyAccount } from './account/MyAccount.tsx';
import { ClientPage } from './Client.tsx';
import { Clients } from './Clients.tsx';
import { Encryption } from './Encryption.tsx';
import { Operators } from './Operators.tsx';
import { Retention } from './Retention.tsx';
import { SignInPolicy } from './SignInPolicy.tsx';

const tabs: { path: string; label: string; owner?: true; content: ReactNode }[] = [
  { path: '/clients', label: 'Clients', content: <Clients /> },
  { path: '/operators', label: 'Operators', owner: true, content: <Operators /> },
  { path: '/access', label: 'Access review', owner: true, content: <Access /> },
  { path: '/sign-in', label: 'Sign-in', owner: true, content: <SignInPolicy /> },
  { path: '/alerts', label: 'Alerts', owner: true, content: <Alerts /> },
  { path: '/encryption', label: 'Encryption', owner: true, content: <Encryption /> },
  { path: '/retention', label: 'Retention', owner: true, content: <Retention /> },
  { path: '/me', label: 'My account', content: <MyAccount /> },
];

export default function Settings() {
  const [location, navigate] = useLocation();
  const row = useCurrentInView();
  const { may } = useSession();
  const shown = tabs.filter(({ owner }) => !owner || may('owner'));
  const current = shown.find(({ path }) => location === path || location.startsWith(`${path}/`));
  return (
    <>
      <PageTitle>Settings</PageTitle>
      <Tabs value={current?.path ?? null} onChange={(path) => path && navigate(path)} mb="md">
        <Tabs.List ref={row} aria-label="Settings" className="one-line">
          {shown.map(({ path, label }) => (
            <Tabs.Tab key={path} value={path}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {current && (
          <Tabs.Panel value={current.path} pt="md">
            <Switch>
              <Route path="/clients/:client">{({ client }) => <ClientPage key={client} client_id={client} />}</Route>
              <Route path="/access/:review">{({ review }) => <AccessReview key={review} id={review} />}</Route>
              <Route>{current.content}</Route>
            </Switch>
          </Tabs.Panel>
        )}
      </Tabs>
      {!current && <Redirect replace to="/clients" />}
    </>
  );
}
