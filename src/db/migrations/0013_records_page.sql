-- What providers without hours of their own work by; null is Monday to Friday, 09:00 to 17:00.
ALTER TABLE organizations ADD COLUMN default_hours json;

-- A patient's own appointments.
CREATE INDEX appointments_patient ON appointments (client_id, organization_id, patient_mrn, starts_at DESC, id);
-- The list of all orders is read by day; so far they were only asked for patient by patient.
CREATE INDEX orders_dates ON orders (client_id, organization_id, order_date DESC, id);
