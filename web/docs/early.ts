import { applyPreferences } from './preferences.ts';

// Loaded before the page is shown, so that it does not appear in another theme or language first.
applyPreferences();
