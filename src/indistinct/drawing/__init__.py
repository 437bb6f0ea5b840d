"""Pictures and pages about recodings: what an algorithm found and what a model says of it, for people to read."""
