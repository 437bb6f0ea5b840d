"""The testing kit for whoever writes an algorithm, a model or a metric: what every one of them must pass.

checks              what every algorithm must pass with every model
reference           every model judged on rows in plain Python
bucket_reference    what a release in buckets links, in plain Python
strategies          small tables, hierarchies, models and recodings for Hypothesis, which must be installed
"""

__all__: list[str] = []
