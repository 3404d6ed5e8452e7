import { Type } from 'typebox';

/** Where everything of one organisation stands. */
export const organisation_path = '/dashboard/api/clients/{client_id}/organisations/{organisation_id}';
export const organisation_params = Type.Object({ client_id: Type.String(), organisation_id: Type.String() });

/** One record of an organisation. Called `id`, as the audit trail looks for what a request is about. */
export const record_params = Type.Object({ ...organisation_params.properties, id: Type.String() });
