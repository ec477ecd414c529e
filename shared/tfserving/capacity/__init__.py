"""What one serving instance and a fleet of them can carry: closed forms, from batch times and settings to rates, latencies and cost.

Symbols of the sources and the names used here:

    t(b)      BatchTime.total_ms        a batch of b rows, host part included
    a, c      fixed_ms, per_row_ms      t(b) = a + c*b
    h         host_ms                   the CPU's part of t(b), which overlaps with other batches' device part
    g(b)      device_ms                 t(b) - h, on the device alone
    d         cpu_ms_per_request        parse, decode, encode
    K         vcpus
    B, N      max_batch_rows, batch_threads
    T, Q      batch_timeout_ms, max_enqueued_batches
    C, G, H   concurrency, server threads over gRPC and over REST
    s         rows_per_request

Times are milliseconds, rates are per second. The rules of the batch queue are those of TF Serving's shared_batch_scheduler.h; each formula
names its source and what it assumes. Numbers fitted to simulations of the same rules are constants with names.
"""
