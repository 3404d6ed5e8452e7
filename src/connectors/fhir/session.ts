import type { Access, Door } from '../connector.ts';
import { EmrFailure } from '../connector.ts';
import { call } from './call.ts';
import type { Ask } from './search.ts';

/** Asks as the person who linked the account. */
export function openSession(door: Door, access: Access): Ask {
  return async (asked) => {
    const answer = await call(door, asked, access.grant.access_token);
    if (answer.status === 401) throw new EmrFailure('login_required', 'The EMR no longer accepts the sign-in.');
    return answer;
  };
}
