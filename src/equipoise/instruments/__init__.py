"""The studies. Each is a folder of stimuli, a design, its conduct and its measures."""
