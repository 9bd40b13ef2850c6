"""The arithmetic of inference, by name."""

from typing import Literal

Precision = Literal["fp32", "bf16", "int8"]
