-- What an EMR app sends with its requests, besides its credentials.
ALTER TABLE emr_apps
  -- The scopes to request, exactly; null: those that the server lists.
  ADD COLUMN scope          text,
  -- Constant headers, such as an API key.
  ADD COLUMN headers_sealed bytea,
  -- Constant search parameters; a blank value must be given by each practice.
  ADD COLUMN search_params  jsonb NOT NULL DEFAULT '{}',
  -- The group of patients that a bulk export reads.
  ADD COLUMN bulk_group     text,
  -- Whether the EMR has to fetch our key set, how often that happened, and when for the last time.
  ADD COLUMN uses_key_set    boolean NOT NULL DEFAULT false,
  ADD COLUMN key_fetches     bigint NOT NULL DEFAULT 0,
  ADD COLUMN keys_fetched_at timestamptz;

-- The search parameters that name the practice, where several practices share the address of an EMR.
ALTER TABLE organizations ADD COLUMN search_params jsonb NOT NULL DEFAULT '{}';
ALTER TABLE link_tokens ADD COLUMN search_params jsonb NOT NULL DEFAULT '{}';
