-- As for patients and appointments (0056): a claim that a write of ours stored is not replaced by an older page of a sync.
ALTER TABLE claims ADD COLUMN written_in bigint;
