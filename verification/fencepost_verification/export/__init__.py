"""A contract in other checkers' languages, so that independent tools can be held against our own."""
