import {
  ActionIcon,
  AppShell,
  Badge,
  Box,
  Burger,
  Button,
  Group,
  Kbd,
  NavLink,
  ScrollArea,
  Select,
  Stack,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense, useEffect } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';
import { ErrorAlert, ErrorBoundary } from '../parts/errors.tsx';
import { Icon } from '../parts/Icon.tsx';
import { Loading, list_rows } from '../parts/Loading.tsx';
import { EmptyState, PageTitle } from '../parts/layout.tsx';
import { Mark } from '../parts/Mark.tsx';
import { determineAccess, mayInAny } from '../service/access.ts';
import { ClientProvider } from '../service/client.tsx';
import { useQuery } from '../service/queries.ts';
import { useSession } from '../service/session.tsx';
import type { Client, Session } from '../service/types.ts';
import { useActivity } from '../service/useActivity.ts';
import { useLive } from '../service/useLive.ts';
import { CommandPalette, openPalette } from './CommandPalette.tsx';
import { OperatorMenu } from './OperatorMenu.tsx';
import { type PageEntry, pages } from './pages.ts';
import { ShortcutList, useShortcuts } from './Shortcuts.tsx';
import { useNavigationFocus } from './useNavigationFocus.ts';

/** The frame around every page: header, menu and the selected client. */
export function Shell() {
  const session = useSession();
  const connected = useLive(session.expire);
  useActivity(session.expire);
  const [open, menu] = useDisclosure();
  const [shortcuts_open, shortcuts] = useDisclosure();
  const [location, navigate] = useLocation();
  const clients = useQuery('clients.list', {}, { live: ['accounts'] });
  const selected = useSelectedClient(clients.data?.clients);
  const shown = pages.filter((page) => isShown(page, session, selected));
  const listed = shown.filter((page) => isListed(page, session, selected));
  useNavigationFocus(location, open, menu.close);
  useShortcuts(listed, {
    openPalette,
    openList: shortcuts.open,
    openPage: (page) => navigate(urlOfPage(page, selected) ?? '/'),
  });
  // If a later refetch fails, the page and its input stay.
  if (clients.error && !clients.data) return <ErrorAlert error={clients.error} retry={clients.refetch} />;
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !open } }}
      padding="md"
      transitionDuration={0}
    >
      <a className="skip" href="#content">
        Skip to content
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
            <Link href="/" className="brand">
              <Mark />
              {/* On a phone the environment is more important. */}
              <span className="wordmark">Chartwire</span>
            </Link>
            {session.sandbox && (
              <Badge color="orange" variant="light">
                Sandbox
              </Badge>
            )}
            {session.sandbox && session.may('read_only') && <ActiveFaults />}
            {!connected && (
              <Badge color="red" variant="light" role="status">
                Disconnected
              </Badge>
            )}
          </Group>
          <Group wrap="nowrap" gap="xs">
            <PaletteButton onClick={openPalette} />
            <OperatorMenu openShortcuts={shortcuts.open} />
          </Group>
        </Group>
      </AppShell.Header>
      <CommandPalette pages={listed} client={selected} />
      <ShortcutList opened={shortcuts_open} onClose={shortcuts.close} pages={listed} />
      <AppShell.Navbar p="sm" aria-label="Pages" className={open ? 'menu' : 'menu closed'}>
        <ScrollArea>
          <Stack gap={2}>
            {selected && <ClientSelect clients={clients.data?.clients ?? []} selected={selected} />}
            {/* All at once: the pages of the client are known when the clients are. */}
            {clients.data && listed.map((page) => <PageLink key={page.path} page={page} selected={selected} />)}
          </Stack>
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <Box maw={1400} mx="auto">
          <ErrorBoundary location={location}>
            {clients.data ? (
              <Routes pages={shown} clients={clients.data.clients} selected={selected} />
            ) : (
              <PendingPage location={location} />
            )}
          </ErrorBoundary>
        </Box>
      </AppShell.Main>
    </AppShell>
  );
}

function isShown(
  { sandbox, four_eyes, role, per_client, of_any_client, permission }: PageEntry,
  session: Session,
  client: Client | undefined,
) {
  if (sandbox && !session.sandbox) return false;
  if (permission !== undefined && !session.operator[permission]) return false;
  if (four_eyes && !session.four_eyes) return false;
  if (role === undefined) return true;
  if (of_any_client) return mayInAny(session.operator, role);
  return determineAccess(session.operator, per_client && client?.client_id).may(role);
}

function isListed({ listed_for }: PageEntry, session: Session, client: Client | undefined): boolean {
  return listed_for === undefined || determineAccess(session.operator, client?.client_id).may(listed_for);
}

/** Opens the command palette: a search box on wide windows, an icon on a phone. */
function PaletteButton({ onClick }: { onClick: () => void }) {
  return (
    <>
      <Button
        variant="default"
        size="xs"
        c="dimmed"
        fw={400}
        visibleFrom="sm"
        leftSection={<Icon name="search" size={16} />}
        rightSection={<Kbd size="xs">Ctrl K</Kbd>}
        onClick={onClick}
      >
        Go to…
      </Button>
      <ActionIcon variant="subtle" color="gray" size="lg" hiddenFrom="sm" aria-label="Go to" onClick={onClick}>
        <Icon name="search" />
      </ActionIcon>
    </>
  );
}

/** The client in the URL, else the last one viewed, else the first. */
function useSelectedClient(clients: readonly Client[] | undefined): Client | undefined {
  const [location] = useLocation();
  const in_url = /^\/clients\/([^/]+)/.exec(location)?.[1];
  const id = in_url ?? sessionStorage.getItem('client');
  const selected = clients?.find((client) => client.client_id === id) ?? (in_url ? undefined : clients?.[0]);
  useEffect(() => {
    if (selected) sessionStorage.setItem('client', selected.client_id);
  }, [selected]);
  return selected;
}

function Routes({
  pages,
  clients,
  selected,
}: {
  pages: readonly PageEntry[];
  clients: readonly Client[];
  selected: Client | undefined;
}) {
  const first = pages[0];
  const [location] = useLocation();
  return (
    <Suspense fallback={<PendingPage location={location} />}>
      <Switch>
        {pages
          .filter((page) => !page.per_client)
          .map(({ path, component: Page }) => (
            <Route key={path} path={path} nest>
              <Page />
            </Route>
          ))}
        <Route path="/clients/:client" nest>
          {({ client: id }) => {
            const client = clients.find((each) => each.client_id === id);
            if (!client) return <NotFound what="client" />;
            return (
              // Keyed, so that input is not carried over to another client.
              <ClientProvider key={client.client_id} client={client}>
                <Switch>
                  {pages
                    .filter((page) => page.per_client)
                    .map(({ path, component: Page }) => (
                      <Route key={path} path={path} nest>
                        <Page />
                      </Route>
                    ))}
                  <Route>
                    <NotFound what="page" />
                  </Route>
                </Switch>
              </ClientProvider>
            );
          }}
        </Route>
        <Route path="/">{first && <Redirect replace to={urlOfPage(first, selected) ?? '/settings'} />}</Route>
        <Route>
          <NotFound what="page" />
        </Route>
      </Switch>
    </Suspense>
  );
}

/** A page whose script or client is being loaded: its title is known already, except that of a single record. */
function PendingPage({ location }: { location: string }) {
  const path = location.replace(/^\/clients\/[^/]+/, '').replace(/\/$/, '');
  const page = pages.find((each) => each.path === path);
  return (
    <>
      {page && <PageTitle>{page.label}</PageTitle>}
      <Loading rows={list_rows} />
    </>
  );
}

function NotFound({ what }: { what: 'page' | 'client' }) {
  return (
    <>
      <PageTitle>Not found</PageTitle>
      <EmptyState
        action={
          <Button component={Link} href="~/dashboard" variant="default">
            Go to the overview
          </Button>
        }
      >
        This {what} does not exist. The link may be outdated, or your role may not have access to it.
      </EmptyState>
    </>
  );
}

function urlOfPage(page: PageEntry, selected: Client | undefined): string | undefined {
  if (!page.per_client) return page.path;
  return selected && `/clients/${selected.client_id}${page.path}`;
}

function PageLink({ page, selected }: { page: PageEntry; selected: Client | undefined }) {
  const [location] = useLocation();
  const url = urlOfPage(page, selected);
  if (!url) return null;
  const current = location === url || location.startsWith(`${url}/`);
  return (
    <NavLink
      component={Link}
      href={url}
      label={page.label}
      leftSection={<Icon name={page.icon} />}
      rightSection={page.four_eyes && <WaitingApprovals />}
      active={current}
      {...(current ? { 'aria-current': 'page' } : {})}
    />
  );
}

/** Faults of the sandbox's EMR: they explain what happens on all pages. */
function ActiveFaults() {
  const { data } = useQuery('sandbox.get', {}, { refresh_ms: 15_000 });
  const count = data ? data.sandbox.switches.filter(({ on }) => on).length + data.sandbox.other_faults : 0;
  if (count === 0) return null;
  return (
    <Badge component={Link} href="/sandbox" color="red" variant="light" td="none" className="fault-badge">
      {count === 1 ? '1 fault on' : `${count} faults on`}
    </Badge>
  );
}

/** How many approvals wait for this operator: to be decided, or to be run. */
function WaitingApprovals() {
  const { data } = useQuery('approvals.list', {}, { refresh_ms: 30_000 });
  const waiting = data?.approvals.filter(({ can_decide, can_run }) => can_decide || can_run).length ?? 0;
  if (waiting === 0) return null;
  return (
    <Badge size="sm" color="orange.9" circle={waiting < 10} aria-label={`${waiting} waiting for you`}>
      {waiting}
    </Badge>
  );
}

function ClientSelect({ clients, selected }: { clients: readonly Client[]; selected: Client }) {
  const [location, go] = useLocation();
  if (clients.length < 2) return null;
  return (
    <Select
      label="Client"
      mb="sm"
      allowDeselect={false}
      data={clients.map((client) => ({ value: client.client_id, label: client.name }))}
      value={selected.client_id}
      onChange={(id) => {
        if (!id) return;
        sessionStorage.setItem('client', id);
        // Opens the same page of the other client, but not a single record, which only this client has.
        const [, , , page = 'accounts'] = location.split('/');
        go(location.startsWith('/clients/') ? `/clients/${id}/${page}` : location);
      }}
    />
  );
}
