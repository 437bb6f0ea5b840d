"""The steps for several tables of the same people: the same sequence of steps, with the questions for them."""
