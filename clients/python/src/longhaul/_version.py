"""Major and minor are those of the contract, the patch is the client's own."""

__version__ = "0.1.0"
