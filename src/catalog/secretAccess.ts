/** What a client secret may do: everything, or only read. */
export const secret_access = ['read_write', 'read_only'] as const;
export type SecretAccess = (typeof secret_access)[number];
