"""Linux as a program: a user-mode kernel whose clock jumps from timer to timer, built from source, in the cache."""
