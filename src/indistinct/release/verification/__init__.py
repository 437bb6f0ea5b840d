"""How a release is verified: what was published is counted again, and a model judges it."""
