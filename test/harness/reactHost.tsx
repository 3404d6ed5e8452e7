import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useLink } from '../../sdk/react.ts';

/** An application of a customer's that is written with React, as the SDK's readers write theirs. */
function Application() {
  const [shown, setShown] = useState(true);
  return (
    <>
      <h1>App</h1>
      <button type="button" onClick={() => setShown(!shown)}>
        {shown ? 'Leave' : 'Return'}
      </button>
      {shown && <Connect />}
    </>
  );
}

function Connect() {
  const [told, setTold] = useState<string[]>([]);
  const tell = (word: string) => setTold((before) => [...before, word]);
  const base_url = new URLSearchParams(location.search).get('service') ?? '';
  const { open, isOpen, error } = useLink({
    baseUrl: base_url,
    onSuccess: (public_token) => tell(`linked ${public_token.slice(0, 3)} after ${told.length}`),
    onExit: (reason) => tell(`exited ${reason}`),
  });
  const token = location.hash.slice(1);
  return (
    <>
      <button
        type="button"
        onClick={() => {
          open(token);
          open(token);
        }}
      >
        Connect
      </button>
      <p id="state">{isOpen ? 'open' : 'closed'}</p>
      <p id="error">{error?.message}</p>
      <ul>
        {told.map((word) => (
          <li key={word}>{word}</li>
        ))}
      </ul>
    </>
  );
}

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <Application />
    </StrictMode>,
  );
