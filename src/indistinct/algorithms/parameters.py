"""Descriptions of the parameters that several algorithms have."""

import math

from indistinct.parameters import Number, Parameter, Whole
from indistinct.recoding.columns import FORMS_OF_NUMBERS

METRIC = Parameter("Metric", "Metric that the search minimizes, such as gcp or loss.")
SCHEME = Parameter(
    "Weights of levels", "uniform: every step up a hierarchy costs the same; height: steps near the root cost more."
)
BETA = Parameter(
    "Exponent of the weights",
    "Makes steps near the root dearer with scheme=height, at least 1; 1 is usual.",
    Number("at least 1", low=1),
)
STUB = Parameter(
    "Give away only spare rows",
    "A class that is large enough gives only the rows that a small one lacks, and keeps the rest as detailed as "
    "before.",
)
DIVERSITY = Parameter(
    "Different values (l)",
    "Sensitive values in each bucket: a value is linked to a person with a probability of at most 1/l, for example "
    "l=5.",
    Whole(),
    start="3",
)
EXTENT = Parameter(
    "Extent of ranges",
    "range: from the smallest to the largest value of the class; region: the whole region between two cuts.",
)
NUMERIC = Parameter(
    "Form of numbers",
    "interval: a range; interval+mean: a range and the mean; bounds: two columns; mean: the mean of the class alone. "
    "One form for all columns, or one for each of some, such as age=mean.",
    FORMS_OF_NUMBERS,
)
TREES = Parameter("Labels of hierarchies", "node: the node of the hierarchy; set: the set of values in the class.")
TIME_LIMIT = Parameter(
    "Time limit in seconds",
    "Seconds that the search may take; none sets no limit.",
    Number("above 0", low=math.ulp(0.0)),
)
NODE_LIMIT = Parameter("Node limit", "Nodes that the search for the optimum may visit; 0 sets no limit.", Whole(0))
BUCKET_SIZE = Parameter("Smallest bucket", "Rows in each bucket, at least.", Whole())
TRY_ALL_COLUMNS = Parameter("Try all columns for a split", "Slower; may find more buckets.")
MARKING = Parameter(
    "Marking",
    "How far a satisfying node marks its generalizations: direct, as published, or transitive. Both find the same.",
)
START = Parameter("Start", "Algorithm whose result is improved, as written on the command line.")
IMPORTANCE = Parameter("Attribute weights", "Weights of quasi-identifiers, such as age=3|sex=2; the default is 1.")
