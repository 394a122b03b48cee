"""Car racing on designed tracks, with black ice. Imports nothing: ``settings`` is read by the help page."""
