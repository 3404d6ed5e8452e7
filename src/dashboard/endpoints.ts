import type { Endpoint } from '../api/endpoint.ts';
import accountsLink from './accounts.link.ts';
import accountsList from './accounts.list.ts';
import accountsRelink from './accounts.relink.ts';
import accountsReveal from './accounts.reveal.ts';
import accountsRevoke from './accounts.revoke.ts';
import accountsSync from './accounts.sync.ts';
import clientsList from './clients.list.ts';
import { liveGet } from './live.get.ts';
import type { Live } from './live.ts';
import overviewGet from './overview.get.ts';
import overviewHistory from './overview.history.ts';
import sessionCreate from './session.create.ts';
import sessionDelete from './session.delete.ts';
import sessionGet from './session.get.ts';

/** What the dashboard's page asks for. Answered by the machine of all endpoints, but no part of the interface for applications. */
export function dashboardEndpoints(live: Live): readonly Endpoint[] {
  return [
    ...[sessionCreate, sessionGet, sessionDelete, liveGet(live), clientsList],
    ...[overviewGet, overviewHistory],
    ...[accountsList, accountsLink, accountsRelink, accountsReveal, accountsSync, accountsRevoke],
  ];
}
