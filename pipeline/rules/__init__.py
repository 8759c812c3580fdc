"""Rules that know nothing of minds: listed ones, and what a learner finds on the surface."""
