"""The machine below everything: arrays, compiled code, memory, files of its own, chance."""
