"""The testing kit: checks that every algorithm and model must pass, slow references, strategies and values by hand.

checks               what every algorithm must pass with every model
reference            every model judged on rows in plain Python
mondrian_reference   strict and relaxed partitioning over rows in plain Python
lattice_reference    every node of a lattice of full-domain recodings, judged and measured over rows in plain Python
strategies           small tables, hierarchies, models and recodings for Hypothesis, which must be installed
classes, recoded     classes and recoded tables written down by hand
"""

__all__: list[str] = []
