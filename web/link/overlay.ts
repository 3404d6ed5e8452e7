/** What covers the application's page while Link is open: a dark layer, the frame in it, a button to close it. */
export type Overlay = {
  frame: HTMLIFrameElement;
  /** The page is there: it gets the focus, and the rest is named in the words of its language. */
  ready(title: string, close: string): void;
  remove(): void;
};

/**
 * A modal dialog of the browser's own: it is above everything, keeps the focus inside, and makes the rest of the page
 * inert. Nothing is written but into its own elements, so that removing it removes everything.
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
    // As the page in it has it: with another scheme the browser would paint a ground under the page.
    'color-scheme': 'light dark',
  });
  const button = closeButton(close);
  // Within a shadow no style sheet of the application reaches the frame and the button.
  const shade = document.createElement('div');
  shade.attachShadow({ mode: 'open' }).append(frame, button);
  dialog.append(shade);
  dialog.addEventListener('cancel', (event) => {
    event.preventDefault();
    close();
  });
  (document.body ?? document.documentElement).append(dialog);
  dialog.showModal();
  // Until the page is there: in a frame that was refused, no key would close anything.
  button.focus();
  let named = false;
  return {
    frame,
    ready: (title, label) => {
      dialog.setAttribute('aria-label', title);
      frame.title = title;
      button.setAttribute('aria-label', label);
      button.title = label;
      if (!named) frame.focus();
      named = true;
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
  const ring = (colour: string) => () => style(button, { outline: colour, 'border-color': 'transparent' });
  button.addEventListener('focus', ring('3px solid #fff'));
  button.addEventListener('blur', ring('none'));
  button.addEventListener('click', close);
  return button;
}

/** One property at a time, which no content security policy of the application's forbids. */
function style(element: HTMLElement, properties: Record<string, string>): void {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(name, value, 'important');
}
