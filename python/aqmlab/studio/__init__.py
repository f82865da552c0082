"""The studio: queues live in a browser, served by a small local server. docs/studio.md describes it."""
