"""The report about a release, for the people who decide.

Guarantees, what was done, and the remaining risk and utility.

`facts` are computed by the public functions, `editions` remove what readers of the data must not see, sections put the
rest in words, and `render` makes one HTML page.
"""
