import type { Access, Connector, Door } from '../../connector.ts';
import { offersOf } from '../offersOf.ts';
import { capabilitiesOf, factsOf, type ServerFacts } from '../transport/capabilities.ts';
import { urlOf } from '../transport/search.ts';
import { openSession } from '../transport/session.ts';
import { statementIn } from './discover.ts';
import { tryServer } from './probeServer.ts';
import { narrowed } from './scopes.ts';

/** What the server can do now, with the rights that the account has now: servers are upgraded, and rights taken away. */
export const lookAgain: NonNullable<Connector['discover']> = async (door: Door, access: Access) => {
  const session = openSession(door, access);
  const base = new URL(door.address);
  const statement = statementIn(await session.ask({ method: 'GET', url: urlOf(base, 'metadata') }));
  // Looked at after the request: it may have brought a token with other rights.
  const facts = narrowed(factsOf(statement), session.grant().scope);
  // Written by signIn, or here, from a value of this type.
  const before: ServerFacts | undefined = access.grant.server && JSON.parse(access.grant.server);
  const tried = await tryServer(base, facts, session.ask, before);
  const grant = session.grant();
  const [server, offers] = [JSON.stringify(tried), offersOf(capabilitiesOf(tried))];
  // A server that can do nothing is one that is being mended: what it could do before is found again tomorrow.
  return server === grant.server || offers.length === 0 ? undefined : { grant: { ...grant, server }, offers };
};
