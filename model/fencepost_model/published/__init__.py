"""The source documents as they print it: tables, numbers and machines, kept with their gaps for the findings."""
