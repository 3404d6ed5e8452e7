-- A link may be created without an EMR: the person then finds the practice in the directory, and may choose another one
-- until the account is linked.
ALTER TABLE link_tokens
  ALTER COLUMN connector DROP NOT NULL,
  ALTER COLUMN emr_address DROP NOT NULL,
  ADD COLUMN finds_practice boolean NOT NULL DEFAULT false,
  ADD COLUMN practice_id uuid,
  ADD CHECK ((connector IS NULL) = (emr_address IS NULL)),
  ADD CHECK (connector IS NOT NULL OR finds_practice);
