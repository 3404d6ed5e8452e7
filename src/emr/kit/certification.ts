/** The certification checks for a connector outside this repository: `@chartwire/connector/certification`. */
export { createOutbound } from '../../platform/security/outbound.ts';
export { type CheckResult, certify } from '../certification/certify.ts';
export type { CertificationTarget } from '../certification/environment.ts';
export { formatReport } from '../certification/report.ts';
