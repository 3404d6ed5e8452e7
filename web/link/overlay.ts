/** Covers the application's page while Link is open: backdrop, frame and close button. */
export type Overlay = {
  frame: HTMLIFrameElement;
  /** Focuses the loaded page and labels the overlay in its language. */
  ready(title: string, close: string): void;
  remove(): void;
};

/**
 * A modal <dialog>: on top of everything, with the focus inside and the rest of the page inert. It changes no other
 * elements, so that removing it leaves nothing behind.
 */
export function openOverlay(close: () => void): Overlay {
  const before = document.activeElement;
  const dialog = document.createElement('dialog');
  dialog.setAttribute('aria-label', 'Link');
  style(dialog, {
    position: 'fixed',
    inset: '0',
    display: 'block',
    width: '100vw',
    height: '100dvh',
    'max-width': 'none',
    'max-height': 'none',
    margin: '0',
    padding: '0',
    border: '0',
    overflow: 'hidden',
    'overscroll-behavior': 'contain',
    background: 'rgb(10 16 24 / 72%)',
  });
  const frame = document.createElement('iframe');
  frame.title = 'Link';
  frame.referrerPolicy = 'no-referrer';
  style(frame, {
    position: 'absolute',
    inset: '0',
    display: 'block',
    width: '100%',
    height: '100%',
    border: '0',
    background: 'transparent',
    // The same as in the page: otherwise the browser paints an opaque background.
    'color-scheme': 'light dark',
  });
  const button = closeButton(close);
  // A shadow root keeps the application's style sheets away from the frame and the button.
  const container = document.createElement('div');
  container.attachShadow({ mode: 'open' }).append(frame, button);
  dialog.append(container);
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    close();
  });
  (document.body ?? document.documentElement).append(dialog);
  dialog.showModal();
  // Until the page has loaded: with the focus in a blocked frame, no key would close the dialog.
  button.focus();
  let loaded = false;
  return {
    frame,
    ready: (title, label) => {
      dialog.setAttribute('aria-label', title);
      frame.title = title;
      button.setAttribute('aria-label', label);
      button.title = label;
      if (!loaded) frame.focus();
      loaded = true;
    },
    remove: () => {
      dialog.close();
      dialog.remove();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    },
  };
}

function closeButton(close: () => void): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.setAttribute('aria-label', 'Close');
  style(button, {
    position: 'absolute',
    top: '6px',
    right: '6px',
    display: 'grid',
    'place-items': 'center',
    width: '44px',
    height: '44px',
    margin: '0',
    padding: '0',
    border: '2px solid transparent',
    'border-radius': '50%',
    color: '#fff',
    background: 'rgb(40 50 62)',
    cursor: 'pointer',
    font: '400 24px/1 system-ui, sans-serif',
  });
  button.textContent = '×';
  const outline = (value: string) => () => style(button, { outline: value, 'border-color': 'transparent' });
  button.addEventListener('focus', outline('3px solid #fff'));
  button.addEventListener('blur', outline('none'));
  button.addEventListener('click', close);
  return button;
}

/** Sets properties through the CSSOM, which the application's content security policy does not block. */
function style(element: HTMLElement, properties: Record<string, string>): void {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value, 'important');
}
