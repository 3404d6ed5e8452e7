import { createContext, type ReactNode, use } from 'react';
import type { ClientRow } from '../../../src/model/dashboard/clients.ts';

type Looked = {
  client: ClientRow;
  /** The address in the dashboard of something of this client: `at('/jobs/7')`. */
  at: (path: string) => string;
  /** The path in the dashboard's interface of something of this client: `of('jobs/7')`. */
  of: (path: string) => string;
};

const Looked = createContext<Looked | undefined>(undefined);

export function ClientScope({ client, children }: { client: ClientRow; children: ReactNode }) {
  const looked: Looked = {
    client,
    at: (path) => `/clients/${client.client_id}${path}`,
    of: (path) => `clients/${client.client_id}/${path}`,
  };
  return <Looked value={looked}>{children}</Looked>;
}

/** The client that is looked at. */
export function useClient(): Looked {
  const looked = use(Looked);
  if (!looked) throw new Error('This part is shown only below a client.');
  return looked;
}
