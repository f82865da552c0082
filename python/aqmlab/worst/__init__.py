"""The search for the scenario in which a scheme or a controller is worst: spaces, scores, search, shrinking, region.

```text
  document  a scenario as a document of TOML: its tables and values by path
  spaces    scenarios with ranges instead of values, and the draws from them
  score     measures that can be bad, and the regret against the best peer
  plan      the target, its peers, the measures and the space of a search
  memory    the runs that are done, remembered in a folder
  trials    scenarios under all arms and several seeds
  search    random designs, then evolution in several hollows
  shrink    a smaller scenario that shows the same
  region    the values for which a finding holds, and their share of the space
  result    the finding as sentence, table and JSON
```
"""
