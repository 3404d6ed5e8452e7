import '@mantine/core/styles.css';
import '@mantine/charts/styles.css';
import './style.css';
import { createTheme, MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App.tsx';
import { Problem } from './service/ask.ts';
import { session_key } from './service/session.tsx';

/** What the service refuses for want of a session ends what is shown. */
const ended = (error: Error) => {
  if (error instanceof Problem && error.code === 'operator_session_over') client.setQueryData(session_key, null);
};

const client: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: ended }),
  mutationCache: new MutationCache({ onError: ended }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What was refused stays refused; what did not arrive is asked for again.
      retry: (failures, error) => error instanceof Problem && error.status === 0 && failures < 2,
    },
  },
});

const theme = createTheme({
  primaryColor: 'teal',
  primaryShade: { light: 8, dark: 5 },
  autoContrast: true,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  defaultRadius: 'md',
  cursorType: 'pointer',
});

const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
const root = document.getElementById('root');
if (!root) throw new Error('The page has no place for the dashboard.');
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={() => nonce}>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
