import {
  Alert,
  Anchor,
  AppShell,
  Badge,
  Box,
  Burger,
  Center,
  Group,
  Loader,
  NavLink,
  ScrollArea,
  Select,
  Stack,
  Text,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense, useEffect } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import type { ClientRow } from '../../../src/model/dashboard/clients.ts';
import { Catch } from '../parts/Catch.tsx';
import { Failure } from '../parts/Failure.tsx';
import { PageTitle } from '../parts/PageTitle.tsx';
import { ClientScope } from '../service/client.tsx';
import { useSession } from '../service/session.tsx';
import { useLive } from '../service/useLive.ts';
import { usePresence } from '../service/usePresence.ts';
import { useAnswer } from '../service/useService.ts';
import { OperatorMenu } from './OperatorMenu.tsx';
import { type PageEntry, pages } from './pages.ts';
import { useArrival } from './useArrival.ts';

/** Everything around a page: which client is looked at, where one can go, who is signed in. */
export function Shell() {
  const session = useSession();
  const up = useLive(session.over);
  usePresence(session.over);
  const [open, menu] = useDisclosure();
  const [location] = useLocation();
  const clients = useAnswer<{ clients: ClientRow[] }>('clients', { live: ['accounts'] });
  const looked = useLooked(clients.data?.clients);
  const shown = pages.filter((page) => (!page.sandbox || session.sandbox) && (!page.role || session.may(page.role)));
  useArrival(location, open, menu.close);
  // A later one that fails leaves what is shown, and what was typed into it.
  if (clients.error && !clients.data) return <Failure problem={clients.error} retry={clients.refetch} />;
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !open } }}
      padding="md"
      // A frame that slides in while one reads is not calm.
      transitionDuration={0}
    >
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="sm">
            <Burger
              opened={open}
              onClick={menu.toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Menu"
              aria-expanded={open}
            />
            <Text fw={700} component={Link} href="/" c="inherit" td="none">
              Chartwire
            </Text>
            {session.sandbox && (
              <Badge color="orange" variant="light" visibleFrom="xs">
                Sandbox
              </Badge>
            )}
            {!up && (
              <Badge color="red" variant="light" role="status">
                Not live
              </Badge>
            )}
          </Group>
          <OperatorMenu />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages" className={open ? 'menu' : 'menu closed'}>
        <ScrollArea>
          <Stack gap={2}>
            {looked && <ClientChoice clients={clients.data?.clients ?? []} looked={looked} />}
            {shown.map((page) => (
              <PageLink key={page.path} page={page} looked={looked} />
            ))}
          </Stack>
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Box maw={1400} mx="auto">
          {session.operator.password_temporary && location !== '/settings/me' && (
            <Alert color="orange" mb="md">
              Somebody else has seen your password.{' '}
              <Anchor component={Link} href="/settings/me" size="sm" c="inherit" underline="always">
                Choose your own
              </Anchor>
            </Alert>
          )}
          <Catch place={location}>
            {clients.data && <Places pages={shown} clients={clients.data.clients} looked={looked} />}
          </Catch>
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

/** The client of the address, else the one that was looked at last, else the first. */
function useLooked(clients: readonly ClientRow[] | undefined): ClientRow | undefined {
  const [location] = useLocation();
  const named = /^\/clients\/([^/]+)/.exec(location)?.[1];
  const id = named ?? sessionStorage.getItem('client');
  const looked = clients?.find((client) => client.client_id === id) ?? (named ? undefined : clients?.[0]);
  useEffect(() => {
    if (looked) sessionStorage.setItem('client', looked.client_id);
  }, [looked]);
  return looked;
}

function Places({
  pages,
  clients,
  looked,
}: {
  pages: readonly PageEntry[];
  clients: readonly ClientRow[];
  looked: ClientRow | undefined;
}) {
  const first = pages[0];
  return (
    <Suspense
      fallback={
        <Center p="xl">
          <Loader aria-label="Loading" />
        </Center>
      }
    >
      <Switch>
        {pages
          .filter((page) => !page.of_client)
          .map(({ path, component: Page }) => (
            <Route key={path} path={path} nest>
              <Page />
            </Route>
          ))}
        <Route path="/clients/:client" nest>
          {({ client: id }) => {
            const client = clients.find((each) => each.client_id === id);
            if (!client) return <Missing what="client" />;
            return (
              // Keyed: what was typed while looking at one client is not carried to another.
              <ClientScope key={client.client_id} client={client}>
                <Switch>
                  {pages
                    .filter((page) => page.of_client)
                    .map(({ path, component: Page }) => (
                      <Route key={path} path={path} nest>
                        <Page />
                      </Route>
                    ))}
                  <Route>
                    <Missing what="page" />
                  </Route>
                </Switch>
              </ClientScope>
            );
          }}
        </Route>
        <Route path="/">{first && <Redirect replace to={addressOf(first, looked) ?? '/settings'} />}</Route>
        <Route>
          <Missing what="page" />
        </Route>
      </Switch>
    </Suspense>
  );
}

function Missing({ what }: { what: 'page' | 'client' }) {
  return (
    <>
      <PageTitle>Not found</PageTitle>
      <Alert color="gray">There is no such {what}. Choose a page from the menu.</Alert>
    </>
  );
}

function addressOf(page: PageEntry, looked: ClientRow | undefined): string | undefined {
  if (!page.of_client) return page.path;
  return looked && `/clients/${looked.client_id}${page.path}`;
}

function PageLink({ page, looked }: { page: PageEntry; looked: ClientRow | undefined }) {
  const [location] = useLocation();
  const address = addressOf(page, looked);
  if (!address) return null;
  const here = location === address || location.startsWith(`${address}/`);
  return (
    <NavLink
      component={Link}
      href={address}
      label={page.label}
      active={here}
      {...(here ? { 'aria-current': 'page' } : {})}
    />
  );
}

function ClientChoice({ clients, looked }: { clients: readonly ClientRow[]; looked: ClientRow }) {
  const [location, go] = useLocation();
  if (clients.length < 2) return null;
  return (
    <Select
      label="Client"
      mb="sm"
      allowDeselect={false}
      data={clients.map((client) => ({ value: client.client_id, label: client.name }))}
      value={looked.client_id}
      onChange={(id) => {
        if (!id) return;
        sessionStorage.setItem('client', id);
        // The same page of the other client; a single record of this one is not among the other's.
        const [, , , page = 'accounts'] = location.split('/');
        go(location.startsWith('/clients/') ? `/clients/${id}/${page}` : location);
      }}
    />
  );
}
