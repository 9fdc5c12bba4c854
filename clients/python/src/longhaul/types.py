"""The bodies and views of the contract, and the frames of a stream, as types of dictionaries."""

from ._generated.types import *  # noqa: F403
