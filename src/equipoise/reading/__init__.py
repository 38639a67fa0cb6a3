"""Readers: what turns a reply into a reading, each by rules that docs/readers.md publishes."""
