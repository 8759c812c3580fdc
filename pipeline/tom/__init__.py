"""Theory of Mind as logic: stories are events, beliefs are computed from them, text is a rendering.

Standard library only.
"""
