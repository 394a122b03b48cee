"""Every table and figure of the thesis: the study that makes it, what it costs, and what was run beside what was
published.
"""
