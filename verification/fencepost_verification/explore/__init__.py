"""Exhaustive exploration of small worlds: every state, breadth first, with shortest traces."""
