import { Type } from 'typebox';

/** The body of every error, except that of an expired link. */
export const ErrorBody = Type.Object(
  {
    success: Type.Literal(false, { description: 'Always false' }),
    message: Type.String({ description: 'Human-readable message; its wording may change' }),
    code: Type.String({ description: 'Stable, machine-readable error code; new codes may be added' }),
    request_id: Type.String({ description: 'ID of the request; include it when you ask for help' }),
    field: Type.Optional(Type.String({ description: 'The field that caused the error, if there is one' })),
  },
  { schema_name: 'Error', description: 'The body of an error response' },
);

/** The body of an error if the link of the account has expired. Its fields are prescribed. */
export const LoginRequiredBody = Type.Object(
  {
    success: Type.Literal(false, { description: 'Always false' }),
    message: Type.String({ description: 'Human-readable instructions; their wording may change' }),
    error: Type.Literal('login_required', { description: 'Always `login_required`' }),
  },
  { schema_name: 'LoginRequiredError', description: 'The account link has expired: run Link in update mode' },
);
