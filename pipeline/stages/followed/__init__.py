"""What a stage of a cell leaves in its logs while it works, and how it ended.

Others follow it there. The stage itself knows no tracker: it starts a process that sends what the
files say, once the stage has worked for some time, and asks nothing of it.
"""
