"""Papers and RFC 7928 as data, run again: verdicts, claims, scores."""
