from typing import Any, Callable

class Library:
    def __init__(
        self,
        rows: dict[int, tuple[tuple[str, ...], tuple[bool, ...]]],
        make: Callable[[Any, tuple[int, ...], str], Any],
        error: Callable[[int, str], Exception],
        /,
    ) -> None: ...
    def call(
        self,
        type: int,
        inputs: tuple[Any, ...],
        options: tuple[
            int | None, int | None, Any, Any, int | None, str | None, tuple[Any, ...]
        ],
        /,
    ) -> Any: ...

class Operator:
    """An operator, compiled for arrays of fixed sizes, strides and types. Threads may share it."""

    def __init__(
        self,
        library: Library,
        type: int,
        inputs: tuple[Any, ...],
        options: tuple[
            int | None, int | None, Any, Any, int | None, str | None, tuple[Any, ...]
        ],
        constants: bool,
        /,
    ) -> None: ...
    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Runs it on arrays like those it was compiled for, without the constants."""
    def bind(self, *inputs: Any, out: Any = None) -> BoundOperator:
        """Prepares runs on these arrays, which are kept; their contents may change."""
    @property
    def variant(self) -> str:
        """The kernel that runs."""
    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arrays that a call takes."""

class BoundOperator:
    """An operator with its arrays."""

    def __call__(self) -> Any:
        """Runs it and returns the output. Two runs at once write the same output."""

def targets() -> list[tuple[str, int, bool, str, str]]: ...
def variants() -> list[tuple[str, str, str, str, bool, bool, str]]: ...
def version() -> str: ...
