"""The steps for several tables of the same people: the same walk, of which each step draws what is asked of them."""
