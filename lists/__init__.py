"""What hewn is made of: operators, data types, targets, knobs, chips.

The modules data_types, operators, onnx_nodes, targets, knobs, chips, pass_kernels and transpositions
are data, written in the words of `declarations`. To add to hewn, add to one of these.

`checks` finds what makes no sense in them. `build` decides which part of them one build uses,
`signatures` and `tuning` what follows from the types and from the tuned knobs. `files` makes the
tables for the runtime, the tests and the tools. CMake calls the program `generate`, which writes
these; `headers` writes the headers that are committed.
"""
