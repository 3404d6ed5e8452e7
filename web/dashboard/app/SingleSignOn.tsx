import { Alert, Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ApiError, call } from '../service/api.ts';

/** Goes to the identity provider. `error` says why the last attempt failed; `only`: there is no other way to sign in. */
export function SingleSignOn({ label, error, only }: { label: string; error: string | null; only: boolean }) {
  const start = useMutation<void, ApiError>({
    mutationFn: async () => {
      const { url } = await call('single-sign-on.start', {}, { body: { path: currentPage() } });
      window.location.assign(url);
    },
  });
  const message = start.error?.message ?? error;
  // Still loading after a success, because the page is being left.
  const leaving = start.isPending || start.isSuccess;
  return (
    <>
      {message && !leaving && (
        <Alert color="red" role="alert">
          {message}
        </Alert>
      )}
      <Button variant={only ? 'filled' : 'default'} loading={leaving} onClick={() => start.mutate()}>
        {label}
      </Button>
    </>
  );
}

/** The page to return to, without filters. */
function currentPage(): string {
  const { pathname } = window.location;
  return /^\/dashboard(\/[\w-]+)*$/.test(pathname) ? pathname : '/dashboard';
}
