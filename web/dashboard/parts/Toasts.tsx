import { CloseButton, Paper, Text } from '@mantine/core';
import { createContext, type ReactNode, use, useCallback, useEffect, useRef, useState } from 'react';
import { Icon } from './Icon.tsx';

type Toast = { id: number; content: ReactNode };

const ToastContext = createContext<(content: ReactNode) => void>(() => {
  throw new Error('useToast needs a ToastProvider above it.');
});

/** Long enough to read two lines. The page shows the result too, so nothing is lost with it. */
const shown_ms = 8_000;
const toasts_max = 3;

/** Shows the results of actions in a corner of the window. */
export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<readonly Toast[]>([]);
  const last_id = useRef(0);
  const show = useCallback((content: ReactNode) => {
    last_id.current += 1;
    const toast = { id: last_id.current, content };
    setToasts((before) => [...before, toast].slice(-toasts_max));
  }, []);
  const close = useCallback((id: number) => setToasts((before) => before.filter((toast) => toast.id !== id)), []);
  return (
    <ToastContext value={show}>
      {children}
      <div className="toasts" role="status">
        {toasts.map((toast) => (
          <ToastCard key={toast.id} toast={toast} close={close} />
        ))}
      </div>
    </ToastContext>
  );
}

export function useToast(): (content: ReactNode) => void {
  return use(ToastContext);
}

function ToastCard({ toast: { id, content }, close }: { toast: Toast; close: (id: number) => void }) {
  // A toast that is hovered, or whose button has focus, stays.
  const [paused, setPaused] = useState(false);
  useEffect(() => {
    if (paused) return;
    const timer = setTimeout(() => close(id), shown_ms);
    return () => clearTimeout(timer);
  }, [id, paused, close]);
  const hold = () => setPaused(true);
  const release = () => setPaused(false);
  return (
    <Paper
      withBorder
      shadow="md"
      className="toast"
      onMouseEnter={hold}
      onMouseLeave={release}
      onFocus={hold}
      onBlur={release}
    >
      <Icon name="check" color="var(--chart-succeeded)" />
      <Text size="sm" className="breakable">
        {content}
      </Text>
      <CloseButton size="sm" aria-label="Dismiss" onClick={() => close(id)} />
    </Paper>
  );
}
