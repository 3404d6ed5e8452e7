import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useLink } from '../../sdk/src/react.ts';

/** A customer's React application that uses the SDK. */
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
  const [results, setResults] = useState<string[]>([]);
  const add = (result: string) => setResults((before) => [...before, result]);
  const base_url = new URLSearchParams(location.search).get('service') ?? '';
  const { open, isOpen, error } = useLink({
    baseUrl: base_url,
    onSuccess: (public_token) => add(`linked ${public_token.slice(0, 3)} after ${results.length}`),
    onExit: (reason) => add(`exited ${reason}`),
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
        {results.map((result) => (
          <li key={result}>{result}</li>
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
