import { PassThrough } from 'node:stream';
import { Type } from 'typebox';
import { verifyAudit } from '../../audit/verifyAudit.ts';
import { endpoint, WithHeaders } from '../../http/endpoint.ts';
import { type AuditVerifyLine, audit_verify_line } from '../../model/dashboard/audit.ts';

/** A long walk, so it tells how far it is: one JSON text a line, the last one with the verdict. */
export default endpoint({
  id: 'dashboard.audit.verify',
  method: 'POST',
  path: '/dashboard/api/audit/verify',
  auth: 'operator',
  role: 'read_only',
  summary: 'Check every record of the audit trail',
  body: Type.Object({}),
  response: audit_verify_line,
  handle: async ({ ctx }) => {
    const stream = new PassThrough();
    const tell = (line: AuditVerifyLine) => {
      // Whoever asked has left: nobody needs the rest.
      if (stream.destroyed) throw new Error('The verification is not waited for any more.');
      stream.write(`${JSON.stringify(line)}\n`);
    };
    verifyAudit(ctx, tell)
      .then((verdict) => tell({ verdict }))
      .then(() => stream.end())
      .catch((error: unknown) => {
        if (!stream.destroyed) ctx.log.error({ err: error }, 'the audit trail could not be verified');
        stream.destroy();
      });
    return new WithHeaders(stream, { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' });
  },
});
