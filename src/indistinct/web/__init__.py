"""The page: a thin skin over the public functions for a steward who does not program.

`server` binds it to this machine, `guard` lets in whoever has the token, `sessions` keep what a steward decided, a
`worker` runs `tasks` in a process of its own, and `steps` show them inside a `frame`.
"""
