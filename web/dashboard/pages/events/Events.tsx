import { Tabs } from '@mantine/core';
import { Route, Switch, useLocation } from 'wouter';
import { PageTitle } from '../../parts/PageTitle.tsx';
import { Endpoints } from './Endpoints.tsx';
import { EventDetails } from './EventDetails.tsx';
import { EventList } from './EventList.tsx';
import { Receiver } from './Receiver.tsx';
import { RequestDetails } from './RequestDetails.tsx';

const places = [
  { path: '/', label: 'Events' },
  { path: '/endpoints', label: 'Endpoints' },
  { path: '/receiver', label: 'Built-in receiver' },
];

export default function Events() {
  const [location, go] = useLocation();
  const here = places.slice(1).find(({ path }) => location === path || location.startsWith(`${path}/`))?.path ?? '/';
  return (
    <>
      <PageTitle>Events & webhooks</PageTitle>
      <Tabs value={here} onChange={(path) => path && go(path)}>
        <Tabs.List aria-label="Events & webhooks">
          {places.map(({ path, label }) => (
            <Tabs.Tab key={path} value={path} onClick={() => path === here && go(path)}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={here} pt="md">
          <Switch>
            <Route path="/">
              <EventList />
            </Route>
            <Route path="/endpoints">
              <Endpoints />
            </Route>
            <Route path="/receiver">
              <Receiver />
            </Route>
            <Route path="/receiver/:request">{({ request }) => <RequestDetails key={request} id={request} />}</Route>
            <Route path="/:event">{({ event }) => <EventDetails key={event} id={event} />}</Route>
          </Switch>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
