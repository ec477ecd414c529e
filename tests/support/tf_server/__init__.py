"""A small server with TensorFlow's own batch scheduler behind TF Serving's two interfaces: a real model, on the CPU, on loopback only.

It runs in an environment with tensorflow-cpu (`make .venv-tf/installed`):
`.venv-tf/bin/python -m tests.support.tf_server --max-batch-size 16`. Its parts that need no TensorFlow are `rules`, `wire` and `counters`.

What is real: the batch scheduler (shared_batch_scheduler.h, as BatchFunction has it), the model, the texts of refusals. What is written
here, after TF Serving: the two interfaces, the limits of threads, the metrics page. In TF Serving the scheduler's threads are shared by
all models, and a request whose deadline passes in the queue is refused there; here neither is so.
"""
