-- A full pass that would remove an implausible share of a list removes nothing until an operator confirms it.
ALTER TABLE sync_passes
  -- When removals were last held back, how many records were stored then, and how many of them the EMR did not list.
  ADD COLUMN held_at           timestamptz,
  ADD COLUMN held_stored       int,
  ADD COLUMN held_missing      int,
  -- An operator confirmed them: the next full pass removes them.
  ADD COLUMN removal_confirmed boolean NOT NULL DEFAULT false,
  -- Whether the pass also compares ids with the EMR's, and when a pass last did, to find deletions between full passes.
  ADD COLUMN find_deleted      boolean NOT NULL DEFAULT false,
  ADD COLUMN presence_as_of    timestamptz;
