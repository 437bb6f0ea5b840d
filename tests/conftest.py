"""What holds for all tests."""

import os

from hypothesis import HealthCheck, settings

# On a busy machine drawing examples may be slow: that says nothing about the code.
steady = settings(suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("steady", steady)
# A change is judged by the same examples everywhere; `make laws` looks for new ones.
settings.register_profile("fresh", steady, derandomize=False)
settings.load_profile(os.environ.get("INDISTINCT_EXAMPLES", "steady"))
