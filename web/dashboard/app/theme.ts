import { createTheme, type MantineColorsTuple } from '@mantine/core';

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

/**
 * From text to the ground. Cards (7) are lighter than the page, which is darker than 8: see --page. The hue is that of
 * the mark.
 */
const dark: MantineColorsTuple = [
  '#c5ced6',
  '#9fadb9',
  '#7f8e9b',
  '#5d6b78',
  '#34414c',
  '#2a343e',
  '#232d36',
  '#1b242c',
  '#141b22',
  '#0d1217',
];

const dialog = { closeButtonProps: { 'aria-label': 'Close' }, transitionProps: { duration: 0 } };

export const theme = createTheme({
  colors: { sea, dark },
  primaryColor: 'sea',
  // White text on either has a contrast above 4.5:1.
  primaryShade: { light: 8, dark: 7 },
  fontFamily: '"Inter Variable", system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  defaultRadius: 'md',
  cursorType: 'pointer',
  // One type scale and one spacing grid (multiples of 4 px) for all pages.
  fontSizes: { xs: '0.75rem', sm: '0.875rem', md: '0.9375rem', lg: '1rem', xl: '1.25rem' },
  spacing: { xs: '0.5rem', sm: '0.75rem', md: '1rem', lg: '1.5rem', xl: '2rem' },
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: '1.5rem', lineHeight: '2rem', fontWeight: '700' },
      h2: { fontSize: '1.5rem', lineHeight: '2rem', fontWeight: '700' },
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
    NavLink: { defaultProps: { variant: 'light' } },
    Tooltip: { defaultProps: { transitionProps: { duration: 0 } } },
    // Above the input, a list of options would cover the label.
    Select: { defaultProps: { comboboxProps: { position: 'bottom-start', middlewares: { flip: false } } } },
    InputWrapper: { defaultProps: { withAsterisk: false } },
  },
});
