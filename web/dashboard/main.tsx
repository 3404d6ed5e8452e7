import '@mantine/core/styles.css';
import '@mantine/charts/styles.css';
import '@mantine/notifications/styles.css';
import '@mantine/spotlight/styles.css';
import './style.css';
import './details.css';
import { MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App.tsx';
import { theme } from './app/theme.ts';
import { ApiError } from './service/api.ts';
import { session_key } from './service/session.tsx';

/**
 * The session is not the one that this window knows: an operator signed in again in another window, so that the CSRF
 * token is out of date, or must set something up first.
 */
const session_changed = ['operator_request_foreign', 'operator_password_temporary', 'operator_second_factor_missing'];

const onSessionError = (error: Error) => {
  if (!(error instanceof ApiError)) return;
  if (error.code === 'operator_session_over') client.setQueryData(session_key, null);
  if (session_changed.includes(error.code)) void client.invalidateQueries({ queryKey: session_key });
};

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: onSessionError }),
  mutationCache: new MutationCache({ onError: onSessionError }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Error responses are final; only requests without a response are retried.
      retry: (failures, error) => error instanceof ApiError && error.status === 0 && failures < 2,
    },
  },
});

const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
// Read by react-remove-scroll, which adds a style element while a dialog is open.
Object.assign(globalThis, { __webpack_nonce__: nonce });
const root = document.getElementById('root');
if (!root) throw new Error('The page has no element with the id root.');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
