-- A claim is planned once per connection. With values, its plan looked cheaper than without, so that PostgreSQL planned
-- the statement at every claim: a third of its cost with a million deliveries, or a thousand accounts. The one plan must
-- suit any number of rows: each is found by an index, also if the plan was made while the tables were nearly empty.
ALTER FUNCTION claim_lanes SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION claim_lanes SET enable_seqscan = off;
ALTER FUNCTION claim_lanes SET enable_hashjoin = off;
ALTER FUNCTION claim_lanes SET enable_mergejoin = off;
ALTER FUNCTION claim_deliveries SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION claim_deliveries SET enable_seqscan = off;
ALTER FUNCTION claim_deliveries SET enable_hashjoin = off;
ALTER FUNCTION claim_deliveries SET enable_mergejoin = off;
