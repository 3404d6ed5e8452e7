-- Folded names no longer contain apostrophes, hyphens and invisible characters. The characters are those of
-- model/fold.ts. Case and accents are folded already, and not again here: what `lower` does depends on the locale.
-- Spacing accents that were typed as an apostrophe have become blanks; the next full sync stores these names again.
-- The owner of the tables is subject to their policies, and names no tenant.
ALTER TABLE insurance_providers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE referring_providers NO FORCE ROW LEVEL SECURITY;
ALTER TABLE patients NO FORCE ROW LEVEL SECURITY;

CREATE FUNCTION fold_further(folded text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT btrim(regexp_replace(regexp_replace(folded,
    U&'[''`\02b9-\02c0\02c8\02ca\02cb\02ee\055a\05f3\07f4\07f5\2018\2019\201b\2032\2035\275b\275c\a78b\a78c\061c\180e\200b-\200f\202a-\202e\2060-\2064\2066-\206f\feff]', '', 'g'),
    U&'[- \00ad\02d7\058a\05be\1400\1806\2010-\2015\2043\2212\2e17\2e1a\2e3a\2e3b\2e40\2e5d\301c\3030\30a0]+', ' ', 'g'))
$$;
UPDATE insurance_providers SET name_folded = fold_further(name_folded) WHERE name_folded <> fold_further(name_folded);
UPDATE referring_providers SET first_folded = fold_further(first_folded), last_folded = fold_further(last_folded)
 WHERE (first_folded, last_folded) <> (fold_further(first_folded), fold_further(last_folded));
UPDATE patients SET first_folded = fold_further(first_folded), last_folded = fold_further(last_folded)
 WHERE (first_folded, last_folded) <> (fold_further(first_folded), fold_further(last_folded));
DROP FUNCTION fold_further(text);

ALTER TABLE insurance_providers FORCE ROW LEVEL SECURITY;
ALTER TABLE referring_providers FORCE ROW LEVEL SECURITY;
ALTER TABLE patients FORCE ROW LEVEL SECURITY;
