"""The site that a reader opens: a contract, its proofs and its runs, told in English and in pictures."""
