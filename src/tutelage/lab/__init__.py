"""The lab: a page on which people draw levels, watch students in them, and play themselves."""
