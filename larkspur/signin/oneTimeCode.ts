import { Secret, TOTP } from 'otpauth';

const PERIOD_S = 30;

export function currentCode(secret: string, now: Date): string {
  return totp(secret).generate({ timestamp: now.getTime() });
}

/** How long the current codes are shown before the next ones. */
export function codeSecondsLeft(now: Date): number {
  return PERIOD_S - (Math.floor(now.getTime() / 1000) % PERIOD_S);
}

/** One step early or late is accepted: clocks differ, and people type slowly. */
export function codeIsRight(secret: string, code: string, now: Date): boolean {
  return totp(secret).validate({ token: code, timestamp: now.getTime(), window: 1 }) !== null;
}

function totp(secret: string): TOTP {
  return new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: PERIOD_S });
}
