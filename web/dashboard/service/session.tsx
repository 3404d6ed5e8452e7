import { useQuery, useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from 'react';
import { type Access, determineAccess } from './access.ts';
import { call, setCsrfToken } from './api.ts';
import type { Session } from './types.ts';

type SignedIn = Session &
  Access & {
    signOut: () => Promise<void>;
    /** The server reported that the session has ended. */
    expire: () => void;
  };

const SessionContext = createContext<SignedIn | undefined>(undefined);
export const session_key = ['session'];

/** Shows `signIn` until an operator is signed in, then its children. */
export function SessionGate({
  signIn,
  loading,
  children,
}: {
  /** `expired`: an operator was signed in and did not sign out. */
  signIn: (expired: boolean) => ReactNode;
  loading: ReactNode;
  children: ReactNode;
}) {
  const client = useQueryClient();
  const { data, isPending } = useQuery<Session | null>({
    queryKey: session_key,
    queryFn: findSession,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [expired, setExpired] = useState(false);
  if (data && !expired) setExpired(true);
  const expire = useCallback(() => client.setQueryData(session_key, null), [client]);
  const session = useMemo<SignedIn | undefined>(() => {
    if (!data) return undefined;
    return {
      ...data,
      ...determineAccess(data.operator),
      signOut: async () => {
        const { sign_out_url } = await call('session.delete', {});
        // The provider returns to the sign-in page.
        if (sign_out_url !== null) return window.location.assign(sign_out_url);
        client.setQueryData(session_key, null);
        setExpired(false);
      },
      expire,
    };
  }, [data, client, expire]);
  if (isPending) return loading;
  return session ? <SessionContext value={session}>{children}</SessionContext> : signIn(expired);
}

/** The session as the pages of one client see it: with the operator's role there. */
export function ClientSession({ client_id, children }: { client_id: string; children: ReactNode }) {
  const session = useSession();
  const in_client = useMemo(
    () => ({ ...session, ...determineAccess(session.operator, client_id) }),
    [session, client_id],
  );
  return <SessionContext value={in_client}>{children}</SessionContext>;
}

export function useSession(): SignedIn {
  const session = use(SessionContext);
  if (!session) throw new Error('useSession needs a SessionGate above it.');
  return session;
}

/** Stores the session of an operator who has just signed in. */
export function useStartSession(): (session: Session) => void {
  const client = useQueryClient();
  return (session) => {
    setCsrfToken(session.csrf_token);
    // The next operator must not see data that was loaded for the previous one.
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== session_key[0] });
    client.setQueryData(session_key, session);
  };
}

async function findSession(): Promise<Session | null> {
  const { session } = await call('session.get', {}, { background: true });
  if (session) setCsrfToken(session.csrf_token);
  return session;
}
