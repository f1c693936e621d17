"""The lists of what hewn has: operators, data types, targets, knobs, chips.

The modules data_types, operators, onnx_nodes, targets, knobs, chips, pass_kernels and transpositions
are data, written with the classes of `declarations`. To add to hewn, add to one of these modules.

`checks` refuses entries that contradict each other. `signatures` finds the signatures of operators,
and `tuning` reads the values of knobs. `build` decides which part of the lists one build uses.
`files` makes tables of that part for the runtime, the tests and the tools. CMake calls the program
`generate`, which writes these tables; the program `headers` writes the header that is committed.
"""
