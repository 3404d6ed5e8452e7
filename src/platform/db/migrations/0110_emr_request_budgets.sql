-- How many requests per clock minute an EMR's address takes, measured when it rejected more without saying when to try
-- again. All processes and clients share it, because the vendor counts per address. `minute`: the one that `requests`
-- were sent in. `blocked`: the EMR takes no more of them in it. `confirmations`: how often it rejected at this count.
CREATE TABLE emr_request_budgets (
  emr_address   text PRIMARY KEY,
  per_minute    integer NOT NULL,
  confirmations integer NOT NULL DEFAULT 1,
  minute        timestamptz NOT NULL,
  requests      integer NOT NULL,
  blocked       boolean NOT NULL DEFAULT true,
  limited_at    timestamptz NOT NULL DEFAULT now()
);
GRANT SELECT, INSERT, UPDATE, DELETE ON emr_request_budgets TO chartwire_system;
