"""Judges millions of captured streams: `judge_batch` turns a batch of streams into verdicts.

No engine is needed for that. `engines` calls it for each part of the input, in processes of this
machine or on a cluster.
"""
