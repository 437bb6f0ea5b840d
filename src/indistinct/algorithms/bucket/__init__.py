"""Bucketization: values stay exact, and the links between attributes are hidden inside buckets of rows."""
