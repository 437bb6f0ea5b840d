"""The report about a release: what models promise, what algorithms did and what is left, for people who decide.

`facts` are found by the public functions, `editions` take away what readers of the data must not see, sections put
the rest in words, and `render` makes one HTML page of them.
"""
