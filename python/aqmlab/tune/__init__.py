"""The search for the parameters of a scheme: what is asked for, where to look, the search, and what it found.

```text
  goal      objectives and constraints: measures by their names
  space     which parameters, and from where to where
  plan      everything that a tune is asked for
  memory    the runs that are done, remembered in a folder
  search    candidates, asked for in batches and raced against the best
  result    the best and its rivals under other seeds; tables and JSON
  tournament   several schemes tuned alike, and compared
```
"""
