-- How Link looks for a client's people. The logo is kept as what it is (a data: address of at most 64 KB), so that the
-- page of a clinic's staff calls no other host for it.
ALTER TABLE clients
  ADD COLUMN logo   text CHECK (logo ~ '^data:image/(png|jpeg|svg\+xml);base64,[A-Za-z0-9+/]+=*$' AND length(logo) <= 90000),
  ADD COLUMN colour text CHECK (colour ~ '^#[0-9a-f]{6}$');

-- A link that was made in the dashboard ends there: no public token is handed out.
-- `tries` are sign-ins at the EMR; past a limit the token is used up, or Link would be a place to guess passwords.
ALTER TABLE link_tokens
  ADD COLUMN made_in text NOT NULL DEFAULT 'api' CHECK (made_in IN ('api', 'dashboard')),
  ADD COLUMN tries   integer NOT NULL DEFAULT 0;
