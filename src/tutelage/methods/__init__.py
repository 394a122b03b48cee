"""Methods, one file each: settings, how it is built, and a sentence about it. Nothing else names a method.

A file here or of a user's gives its method as ``method``; ``registry`` finds it. Imports of JAX wait until a method is
built, so that listing the methods is instant.
"""
