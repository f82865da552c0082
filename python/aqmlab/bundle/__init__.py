"""An artefact that others can run: results, what made them, and a check that a stranger's machine gives them again.

`archive` packs and unpacks, and trusts no file; `artefact` says what is in one; `build` makes one of a study or a
sweep, `verify` runs one again. What a bundle's files say is text and numbers only: no code of a bundle is run unless
its file is named.
"""
