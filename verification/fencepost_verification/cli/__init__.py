"""The command line ``fencepost-verify``."""
