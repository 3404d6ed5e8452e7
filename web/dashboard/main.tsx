import '@mantine/core/styles.css';
import '@mantine/charts/styles.css';
import './style.css';
import './details.css';
import { createTheme, type MantineColorsTuple, MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app/App.tsx';
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

/** Ten shades of the color that /docs and Link use. */
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

const dialog = { closeButtonProps: { 'aria-label': 'Close' }, transitionProps: { duration: 0 } };

const theme = createTheme({
  colors: { sea },
  primaryColor: 'sea',
  // White text on either has a contrast above 4.5:1.
  primaryShade: { light: 8, dark: 7 },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  defaultRadius: 'md',
  cursorType: 'pointer',
  // One type scale and one spacing grid (multiples of 4 px) for all pages.
  fontSizes: { xs: '0.75rem', sm: '0.875rem', md: '0.9375rem', lg: '1rem', xl: '1.25rem' },
  spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.5rem', lineHeight: '2rem' },
      h2: { fontSize: '1.5rem', lineHeight: '2rem' },
      h3: { fontSize: '1.125rem', lineHeight: '1.5rem' },
      h4: { fontSize: '1rem', lineHeight: '1.5rem' },
      h5: { fontSize: '0.875rem', lineHeight: '1.25rem' },
    },
  },
  components: {
    Badge: { defaultProps: { radius: 'sm' } },
    Button: { styles: { label: { fontWeight: 500 } } },
    // As in the documentation. One second, the default, is easily missed.
    CopyButton: { defaultProps: { timeout: 2_000 } },
    Drawer: { defaultProps: dialog },
    // Without transition, its items can be focused as soon as it is open. axe rejects the placeholder in a list of items.
    Menu: { defaultProps: { transitionProps: { duration: 0 }, withInitialFocusPlaceholder: false } },
    Modal: { defaultProps: dialog },
    // Above the input, a list of options would cover the label.
    Select: { defaultProps: { comboboxProps: { position: 'bottom-start', middlewares: { flip: false } } } },
    InputWrapper: { defaultProps: { withAsterisk: false } },
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
