"""The commands of ../../tune.sh, which sets up what each of them needs and passes its arguments on.
Only what measures (measuring.py) needs the wheels of the tuner's environment."""

import sys

import building
import kernels
from command_line import arguments
from hewn_tune import FileError, benchmark, results, space


def merge(options):
    """Writes one file with what all files have."""
    joined = results.Results.read(options.files[0])
    for file in options.files[1:]:
        try:
            joined = joined.merged(results.Results.read(file))
        except FileError:
            raise
        except ValueError as error:
            raise FileError(f"{file}: {error}") from None
    joined.write(options.out)
    print(f"{options.out}: {len(joined.results)} results of {len(joined.machines)} machine(s)")


def export(options, signatures):
    """Writes a T1 file for each kernel and plan that is asked for, GPUs' too. Builds nothing, in a
    folder of its own: what the other commands have built stays."""
    targets = [] if options.target == "auto" else [options.target]
    build = building.configure(options.build_dir, targets, options.op, signatures,
                               options.tuning_dir)
    options.out.mkdir(parents=True, exist_ok=True)
    for kernel in kernels.of_forms(build.kernels + build.gpu_kernels, options.form):
        path = options.out / f"{kernel.name}.T1.json"
        space.write_t1(space.of_kernel(build, kernel), options.elements, path)
        print(path)


def main():
    options = arguments(sys.argv[1:])
    if options.command == "merge":
        return merge(options)
    if options.command == "benchmark":
        optimisers = benchmark.chosen(options.optimisers, options.optimiser)
        return benchmark.main(options.files, optimisers, options.evaluations, options.repeats,
                              options.objective, options.out)
    signatures = [f"{op}_{signature}" for op in options.op
                  for signature in options.signature] or options.signature
    if options.command == "export-space":
        return export(options, signatures)
    import measuring

    return measuring.main(options, signatures)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (building.BuildError, benchmark.OptimiserError, FileError) as error:
        sys.exit(f"tune.sh: {error}")
