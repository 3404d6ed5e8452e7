import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from 'react';
import { type OperatorRole, operator_roles } from '../../../src/model/dashboard/roles.ts';
import type { Session } from '../../../src/model/dashboard/session.ts';
import { ask, keepCsrfToken } from './ask.ts';

type Held = Session & {
  /** Whether the operator's role includes this one. */
  may: (role: OperatorRole) => boolean;
  signOut: () => Promise<void>;
  /** The service no longer knows the session. */
  over: () => void;
};

const Held = createContext<Held | undefined>(undefined);
export const session_key = ['session'];

/** Shows `signIn` until somebody is signed in, then the rest. */
export function SessionGate({
  signIn,
  waiting,
  children,
}: {
  /** `ended` says that somebody was signed in, and did not leave. */
  signIn: (ended: boolean) => ReactNode;
  waiting: ReactNode;
  children: ReactNode;
}) {
  const client = useQueryClient();
  const { data, isPending } = useQuery<Session | null>({
    queryKey: session_key,
    queryFn: findSession,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [ended, setEnded] = useState(false);
  if (data && !ended) setEnded(true);
  const over = useCallback(() => client.setQueryData(session_key, null), [client]);
  const held = useMemo<Held | undefined>(() => {
    if (!data) return undefined;
    return {
      ...data,
      may: (role) => operator_roles.indexOf(data.operator.role) >= operator_roles.indexOf(role),
      signOut: async () => {
        await ask('session', { method: 'DELETE' });
        client.setQueryData(session_key, null);
        setEnded(false);
      },
      over,
    };
  }, [data, client, over]);
  if (isPending) return waiting;
  return held ? <Held value={held}>{children}</Held> : signIn(ended);
}

/** Who is signed in. */
export function useSession(): Held {
  const held = use(Held);
  if (!held) throw new Error('Nothing of the dashboard is shown without a session.');
  return held;
}

/** Takes up a session that was just begun. */
export function useBegin(): (session: Session) => void {
  const client = useQueryClient();
  return (session) => {
    keepCsrfToken(session.csrf_token);
    // Nothing that was shown to one person is shown to another who signs in after.
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== session_key[0] });
    client.setQueryData(session_key, session);
  };
}

async function findSession(): Promise<Session | null> {
  const { session } = await ask<{ session: Session | null }>('session', { background: true });
  if (session) keepCsrfToken(session.csrf_token);
  return session;
}
