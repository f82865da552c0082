"""The Rust half: all of `aqmlab._core`, with one scheme more in its catalogue."""
