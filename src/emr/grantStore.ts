import type { Access, EmrEndpoint, Grant, RenewGrant } from './connector.ts';
import { EmrFailure } from './emrFailure.ts';

/** The current grant of an open account, and its renewal. */
export type GrantStore = {
  current(): Grant;
  /**
   * Renews the grant without a person and saves it, unless another call has replaced `used` already. Concurrent calls
   * share one renewal. A rejected renewal is not repeated: it would fail again, and some EMRs lock users out after
   * several failures. If saving fails, the grant is not used and the next call renews again.
   */
  renew(used: Grant): Promise<void>;
  /** Takes over the stored grant if it is another one than `refused`. Throws `refusal` otherwise. */
  reread(refused: Grant, refusal: EmrFailure): Promise<void>;
  replace(grant: Grant): void;
};

export function createGrantStore(
  { signal }: Pick<EmrEndpoint, 'signal'>,
  access: Access,
  renew: RenewGrant,
): GrantStore {
  let grant = access.grant;
  let renewal: Promise<void> | undefined;
  const renewStored =
    access.renewGrant ??
    (async (used: Grant, renewNow: RenewGrant) => {
      const renewed = await renewNow(used, signal);
      await access.saveGrant(renewed);
      return renewed;
    });
  const renewOnce = () => {
    renewal ??= renewStored(grant, renew).then(
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
    reread: async (refused, refusal) => {
      if (grant !== refused) return;
      grant = await renewStored(refused, () => Promise.reject(refusal));
    },
    replace: (saved) => {
      grant = saved;
    },
  };
}
