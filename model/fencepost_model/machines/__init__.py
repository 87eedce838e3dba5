"""The machines of the contract, one file each."""
