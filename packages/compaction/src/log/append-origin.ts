/**
 * Who wrote a batch: a client's batches are checked in full, a coordinator's may hold markers, and
 * what comes from a leader (or was found on disk) has been checked there.
 */
export type AppendOrigin = 'client' | 'coordinator' | 'replication';
