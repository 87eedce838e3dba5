"""What a change of a contract changes: structure, behaviours with a shortest run each, statements, offenders."""
