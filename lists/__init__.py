"""What hewn is made of: operators, data types, targets, knobs, chips.

The modules `data_types`, `operators`, `onnx_nodes`, `targets`, `knobs`, `chips` and `helpers` are
data, written in the words of `declarations`. To add to hewn, add to one of these. `build` decides
what one build takes from them, `tuning` reads the tuned knobs, `files` writes what the runtime, the
tests and the tools learn from the lists, and `generate` is the program that CMake calls.
"""
