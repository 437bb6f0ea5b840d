"""The web app: an interface to the public functions for data stewards who do not program.

`server` binds it to this machine, `guard` admits browsers with the token, `sessions` store a steward's decisions, a
`worker` runs `tasks` in a separate process, and `steps` show them inside a `frame`.
"""
