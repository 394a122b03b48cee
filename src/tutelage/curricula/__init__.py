"""Teachers: each proposes levels, and learns from how the students fared."""
