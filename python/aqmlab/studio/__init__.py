"""The studio: queues in a browser, live."""
