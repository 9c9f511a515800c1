"""Judges millions of captured streams: `judge_batch` turns a batch of streams into verdicts.

It needs no engine. `engines` calls it for each part of the input, in processes of this machine or
on a cluster.
"""
