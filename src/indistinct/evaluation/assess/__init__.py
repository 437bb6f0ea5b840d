"""What a release still gives away about people, measured on what recodings and buckets publish."""
