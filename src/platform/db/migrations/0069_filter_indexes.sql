-- Filters that had no index of their own, each followed by the order of the list.
CREATE INDEX insurance_providers_active ON insurance_providers (client_id, organization_id, active, name_folded, id);
CREATE INDEX appointments_provider ON appointments (client_id, organization_id, provider_ehr_id, starts_at DESC, id);
