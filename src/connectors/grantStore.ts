import { EmrFailure, type Grant } from './connector.ts';

/** What an EMR gave us to come back with, while an account is open: the newest of it, and how it is renewed. */
export type GrantHolder = {
  current(): Grant;
  /**
   * Renews it without a person, unless that was done since `used` was taken. Calls under way at once share one renewal.
   * A refused one stands: asking again would only be refused again, and some EMRs lock people out for it.
   */
  renew(used: Grant): Promise<void>;
  /** Puts one that was kept in the place of the present one. */
  replace(grant: Grant): void;
};

export function holdGrant(first: Grant, renew: (grant: Grant) => Promise<Grant>): GrantHolder {
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
      // Another call may have renewed it while this one was on its way with the old one.
      if (grant === used) await renewOnce();
    },
    replace: (kept) => {
      grant = kept;
    },
  };
}
