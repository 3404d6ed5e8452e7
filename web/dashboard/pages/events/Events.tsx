import { Tabs } from '@mantine/core';
import { Route, Switch, useLocation } from 'wouter';
import { PageTitle } from '../../parts/layout.tsx';
import { useCurrentInView } from '../../parts/lists/useCurrentInView.ts';
import { EndpointPage } from './EndpointPage.tsx';
import { Endpoints } from './Endpoints.tsx';
import { EventCatalog } from './EventCatalog.tsx';
import { EventList } from './EventList.tsx';
import { EventPage } from './EventPage.tsx';
import { ReceivedRequest } from './ReceivedRequest.tsx';
import { Receiver } from './Receiver.tsx';

const tabs = [
  { path: '/', label: 'Events' },
  { path: '/endpoints', label: 'Endpoints' },
  { path: '/receiver', label: 'Built-in receiver' },
  { path: '/catalog', label: 'Event catalog' },
];

export default function Events() {
  const [location, navigate] = useLocation();
  const row = useCurrentInView();
  const current = tabs.slice(1).find(({ path }) => location === path || location.startsWith(`${path}/`))?.path ?? '/';
  return (
    <>
      <PageTitle>Events & webhooks</PageTitle>
      <Tabs value={current} onChange={(path) => path && navigate(path)}>
        <Tabs.List ref={row} aria-label="Events & webhooks" className="one-line">
          {tabs.map(({ path, label }) => (
            <Tabs.Tab key={path} value={path} onClick={() => path === current && navigate(path)}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={current} pt="md">
          <Switch>
            <Route path="/">
              <EventList />
            </Route>
            <Route path="/endpoints">
              <Endpoints />
            </Route>
            <Route path="/endpoints/:endpoint">{({ endpoint }) => <EndpointPage key={endpoint} id={endpoint} />}</Route>
            <Route path="/receiver">
              <Receiver />
            </Route>
            <Route path="/receiver/:request">{({ request }) => <ReceivedRequest key={request} id={request} />}</Route>
            <Route path="/catalog">
              <EventCatalog />
            </Route>
            <Route path="/:event">{({ event }) => <EventPage key={event} id={event} />}</Route>
          </Switch>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
