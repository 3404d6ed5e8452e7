import { createContext, type ReactNode, use } from 'react';
import { ClientSession } from './session.tsx';
import type { Client } from './types.ts';

type SelectedClient = {
  client: Client;
  client_id: string;
  /** A link to one of this client's pages, from anywhere in the nested routes: `linkTo('/jobs/7')`. */
  linkTo: (path: string) => string;
};

const ClientContext = createContext<SelectedClient | undefined>(undefined);

export function ClientProvider({ client, children }: { client: Client; children: ReactNode }) {
  const { client_id } = client;
  const linkTo = (path: string) => `~/dashboard/clients/${client_id}${path}`;
  return (
    <ClientSession client_id={client_id}>
      <ClientContext value={{ client, client_id, linkTo }}>{children}</ClientContext>
    </ClientSession>
  );
}

/** The client whose pages are shown. */
export function useClient(): SelectedClient {
  const selected = use(ClientContext);
  if (!selected) throw new Error('useClient needs a ClientProvider above it.');
  return selected;
}
