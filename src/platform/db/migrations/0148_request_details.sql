-- More about a request for those who look for a cause: how large the response was, the values that the message of its
-- error names, as far as they are ours, and in the sandbox, whose patients are synthetic, the path that was sent.
ALTER TABLE requests ADD COLUMN response_bytes bigint;
ALTER TABLE requests ADD COLUMN message_values json;
ALTER TABLE requests ADD COLUMN sent_path text;
