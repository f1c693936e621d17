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
            int | None, int | None, Any, Any, Any, int | None, str | None, tuple[Any, ...]
        ],
        /,
    ) -> Any: ...

class Operator:
    """An operator that compile() prepared for arrays of certain types, shapes and strides. Several
    threads may call it at once."""

    def __init__(
        self,
        library: Library,
        type: int,
        inputs: tuple[Any, ...],
        options: tuple[
            int | None, int | None, Any, Any, Any, int | None, str | None, tuple[Any, ...]
        ],
        constants: bool,
        /,
    ) -> None: ...
    def __call__(self, *inputs: Any, out: Any = None) -> Any:
        """Runs the operator and returns the output. `inputs` are the arrays that the property
        `inputs` names, with the types, shapes and strides that it was compiled for. `out` receives
        the result; by default a new array does. Raises hewn.Error."""
    def bind(self, *inputs: Any, out: Any = None) -> BoundOperator:
        """Binds the operator to these arrays, so that running it takes no arguments. It keeps the
        arrays; their contents may change between runs. Arrays of 4-bit and 2-bit types are refused.
        Raises hewn.Error."""
    @property
    def variant(self) -> str:
        """The name of the kernel that runs, such as quantize_linear_f32_u8__x86_64_avx2."""
    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the arrays that a call takes: the inputs that are no constants."""

class BoundOperator:
    """An operator with its arrays, as Operator.bind() makes it."""

    def __call__(self) -> Any:
        """Reads the inputs, writes the output and returns it. Two runs at the same time would write
        the same output."""

def targets() -> list[tuple[str, int, bool, str, str]]: ...
def variants() -> list[tuple[str, str, str, str, bool, bool, str]]: ...
def version() -> str: ...
