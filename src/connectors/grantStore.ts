import { EmrFailure, type Grant } from './connector.ts';

/** The current grant of an open account, and its renewal. */
export type GrantStore = {
  current(): Grant;
  /**
   * Renews the grant without a person, unless another call has replaced `used` already. Concurrent calls share one
   * renewal. A rejected renewal is not repeated: it would fail again, and some EMRs lock users out after several
   * failures.
   */
  renew(used: Grant): Promise<void>;
  replace(grant: Grant): void;
};

export function createGrantStore(first: Grant, renew: (grant: Grant) => Promise<Grant>): GrantStore {
  let grant = first;
  let renewal: Promise<void> | undefined;
  const renewOnce = () => {
    renewal ??= renew(grant).then(
      (renewed) => {
        grant = renewed;
        renewal = undefined;
      },
      (error) => {
        if (!(error instanceof EmrFailure && error.kind === 'login_required')) renewal = undefined;
        throw error;
      },
    );
    return renewal;
  };
  return {
    current: () => grant,
    renew: async (used) => {
      // Another call may have renewed it in the meantime.
      if (grant === used) await renewOnce();
    },
    replace: (saved) => {
      grant = saved;
    },
  };
}
