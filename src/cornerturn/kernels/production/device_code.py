"""The device code of a production kernel, of which a template instance and a launch are made by name."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cornerturn.kernels.kernel import CudaSource, CudaText, Launch
from cornerturn.kernels.source import read_source

COMMON = CudaText("common.cu", read_source("production/common.cu"))

_SCALARS: dict[str, type[np.generic]] = {"int": np.int32, "u32": np.uint32, "i64": np.int64}
_KERNEL = (
    r"template <(?P<template>[^>]*)>\s*__global__ void (?:__launch_bounds__\([^)]*\)\s*)?"
    r"{name}\((?P<launch>[^{{]*)\) {{"
)


@dataclass(frozen=True)
class Production:
    """A production kernel and its launch for one move.

    Attributes:
        source: its device code, with the one template instance to compile.
        launch: its launch; needs no pointer to be known.
    """

    source: CudaSource
    launch: Launch

    @property
    def entry(self) -> str:
        """The template instance, for example ``tile<4, 32, 32, 2, 128, true, 0, false, 0, 1, 1, 2>``."""
        return self.source.entries[0]


class DeviceCode:
    """The CUDA C++ of one kernel template, ``name``.cu beside this module.

    Every value is passed under the name that the device code gives it; order and types are read there.

    Args:
        name: of the kernel and of its file.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.file = f"{name}.cu"
        self.text = read_source(f"production/{self.file}")
        found = re.search(_KERNEL.format(name=name), self.text)
        assert found, f"{self.file} declares no template of a kernel {name}"
        self._template = _names(found["template"])
        self._parameters = {parameter.split()[-1]: parameter for parameter in found["launch"].split(",")}

    def entry(self, template: Mapping[str, int]) -> str:
        """Return the instance with these template arguments.

        Raises:
            TypeError: they are not those of the template.
        """
        _require(self.name, "template arguments", template, self._template)
        return f"{self.name}<{', '.join(_cpp(template[name]) for name in self._template)}>"

    def production(
        self, template: Mapping[str, int], blocks: int, shared_bytes: int = 0, **arguments: Any
    ) -> Production:
        """Return an instance and its launch.

        Args:
            template: the template's arguments; ``THREADS`` is the size of a block.
            blocks: of the grid.
            shared_bytes: dynamic shared memory, bytes per block.
            arguments: the kernel's parameters but x and y: numbers, or structures that are passed by value.

        Raises:
            TypeError: a name is missing, or the device code has no such name.
        """
        source = CudaSource(self.file, self.text, (self.entry(template),), (COMMON,))
        arguments |= {"x": "x", "y": "y"}
        _require(self.name, "parameters", arguments, tuple(self._parameters))
        values = tuple(_value(declared, arguments[name]) for name, declared in self._parameters.items())
        return Production(source, Launch((blocks, 1, 1), (template["THREADS"], 1, 1), values, shared_bytes))


def _names(parameters: str) -> tuple[str, ...]:
    return tuple(parameter.split()[-1] for parameter in parameters.split(","))


def _require(kernel: str, what: str, given: Mapping[str, Any], declared: tuple[str, ...]) -> None:
    if given.keys() != set(declared):
        raise TypeError(f"{kernel} has the {what} {', '.join(declared)}: got {', '.join(given)}")


def _value(declared: str, given: Any) -> Any:
    scalar = _SCALARS.get(declared.split()[0])
    return scalar(given) if scalar else given


def _cpp(value: int) -> str:
    return str(value).lower()  # true, false
