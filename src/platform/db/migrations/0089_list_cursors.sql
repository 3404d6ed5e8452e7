-- Lists by cursor are read in the order of ids, which does not change when a record does.
CREATE INDEX patients_by_id ON patients (client_id, organization_id, id);
CREATE INDEX appointments_by_id ON appointments (client_id, organization_id, id);
CREATE INDEX claims_by_id ON claims (client_id, organization_id, id);
CREATE INDEX insurance_providers_by_id ON insurance_providers (client_id, organization_id, id);
CREATE INDEX referring_providers_by_id ON referring_providers (client_id, organization_id, id);
CREATE INDEX events_by_id ON events (client_id, account_id, id);
