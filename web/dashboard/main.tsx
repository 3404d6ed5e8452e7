import '@mantine/core/styles.css';
import '@mantine/charts/styles.css';
import './style.css';
import { createTheme, type MantineColorsTuple, MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App.tsx';
import { Problem } from './service/ask.ts';
import { session_key } from './service/session.tsx';

/** What the service refuses for want of a session ends what is shown. */
const ended = (error: Error) => {
  if (!(error instanceof Problem)) return;
  if (error.code === 'operator_session_over') client.setQueryData(session_key, null);
  // Somebody signed in anew in another window: what this one was told for the old session no longer counts.
  if (error.code === 'operator_request_foreign') void client.invalidateQueries({ queryKey: session_key });
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

/** Ten shades around the colour of the reference and of Link's own look. */
const sea: MantineColorsTuple = [
  '#e9f6f9',
  '#d3eaf0',
  '#a6d5e1',
  '#76bfd2',
  '#4facc5',
  '#38a0bd',
  '#2694b3',
  '#177f9b',
  '#0f5c6e',
  '#0a4a59',
];

const theme = createTheme({
  colors: { sea },
  primaryColor: 'sea',
  // White on either is above 4.5:1.
  primaryShade: { light: 8, dark: 7 },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  defaultRadius: 'md',
  cursorType: 'pointer',
  components: {
    InputWrapper: { defaultProps: { withAsterisk: false } },
  },
});

const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
// Where the library that keeps the page still behind a dialog looks for it.
Object.assign(globalThis, { __webpack_nonce__: nonce });
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
