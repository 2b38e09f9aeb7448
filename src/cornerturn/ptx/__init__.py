"""PTX as text: what a module holds, what a kernel's instructions say, what its symbols are called in the source.

The grammar and the names are those of the PTX ISA, https://docs.nvidia.com/cuda/parallel-thread-execution.
"""

from cornerturn.ptx.lines import rename_files, source_line
from cornerturn.ptx.names import SourceName, demangle
from cornerturn.ptx.reader import kernel_names, parameters, parse
from cornerturn.ptx.syntax import (
    STATE_SPACES,
    TYPE_BYTES,
    Address,
    Entry,
    Immediate,
    Instruction,
    Operand,
    Register,
    Space,
    Symbol,
    Variable,
    Vector,
    elements,
)

__all__ = [
    "STATE_SPACES",
    "TYPE_BYTES",
    "Address",
    "Entry",
    "Immediate",
    "Instruction",
    "Operand",
    "Register",
    "SourceName",
    "Space",
    "Symbol",
    "Variable",
    "Vector",
    "demangle",
    "elements",
    "kernel_names",
    "parameters",
    "parse",
    "rename_files",
    "source_line",
]
