"""What holds for all tests."""

from hypothesis import HealthCheck, settings

# On a busy machine drawing examples may be slow: that says nothing about the code.
settings.register_profile("steady", suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")
