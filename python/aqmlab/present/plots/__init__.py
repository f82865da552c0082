"""Drawing: each kind of picture is one function that takes the plain data of `data`, on paper and in a browser."""
