"""Reads the messages of Chat Completions, which many services send.

A message is a ``chat.completion`` or a ``chat.completion.chunk``
(https://platform.openai.com/docs/api-reference/chat-streaming), or it is an error.
"""
