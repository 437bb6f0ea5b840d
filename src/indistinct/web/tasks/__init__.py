"""What runs in a process of its own: each task takes a desk and plain values, and returns plain values."""
