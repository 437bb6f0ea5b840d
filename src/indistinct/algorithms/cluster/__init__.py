"""Local recoding: algorithms that gather cells into classes and publish the closest common ancestors of each class."""
