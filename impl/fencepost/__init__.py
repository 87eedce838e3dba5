"""The reference runtime of the contract: durable jobs and tasks on SQLite and PostgreSQL."""
