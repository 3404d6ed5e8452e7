import { Type } from 'typebox';

/** Where everything of one organization stands. */
export const organization_path = '/dashboard/api/clients/{client_id}/organizations/{organization_id}';
export const organization_params = Type.Object({ client_id: Type.String(), organization_id: Type.String() });

/** One record of an organization. Called `id`, as the audit trail looks for what a request is about. */
export const record_params = Type.Object({ ...organization_params.properties, id: Type.String() });
