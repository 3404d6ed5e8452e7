-- The columns that phone numbers are found by contain their digits, without the country code (model/usPlaces.ts).
-- The owner of the tables is subject to their policies, and names no tenant.
ALTER TABLE patients NO FORCE ROW LEVEL SECURITY;
ALTER TABLE referring_providers NO FORCE ROW LEVEL SECURITY;

CREATE FUNCTION phone_digits(phone text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT nullif(regexp_replace(regexp_replace(phone, '[^0-9]', '', 'g'), '^1([0-9]{10})$', '\1'), '')
$$;
UPDATE patients SET phone = phone_digits(phone), cell_phone = phone_digits(cell_phone)
 WHERE (phone, cell_phone) IS DISTINCT FROM (phone_digits(phone), phone_digits(cell_phone));
UPDATE referring_providers SET phone = phone_digits(phone), fax = phone_digits(fax)
 WHERE (phone, fax) IS DISTINCT FROM (phone_digits(phone), phone_digits(fax));
DROP FUNCTION phone_digits(text);

ALTER TABLE patients FORCE ROW LEVEL SECURITY;
ALTER TABLE referring_providers FORCE ROW LEVEL SECURITY;
