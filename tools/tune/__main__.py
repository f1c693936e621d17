"""The tuner's commands. ../../tune.sh sets up what a command needs, and then runs this file with
its own arguments. `merge`, `export-space` and `benchmark` are here. The commands that measure are
in measuring.py, which is imported only for them, because it needs the wheels of the tuner's
environment."""

import sys

import building
import kernels
from command_line import arguments
from hewn_tune import FileError, benchmark, results, space


def merge(options):
    """Writes one T4 file that has the results of all given ones."""
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
    """Writes a T1 file for each kernel and plan that is asked for, those of GPUs too. It only
    configures a build, in a folder of its own, so that the builds of other commands stay as they
    are."""
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
