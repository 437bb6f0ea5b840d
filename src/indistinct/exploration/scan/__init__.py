"""What a published file reveals apart from its cells: unintended columns, row order, metadata, suppressed values."""
