// Fuzzes the tool's conformance cases with lines of any bytes. If a line is a case, the case is run
// while allocations fail; the first byte says from which one on. No allocation fails while the line
// is parsed: destructors of nlohmann's JSON allocate, and end a program that gets no memory, which
// the tool turns into its exit code 3.
#include "../../tools/hewn/cases.h"

#include "fuzz.h"

HEWN_FUZZ(cases) {
    using namespace hewn::cli;
    static const CaseRunner runner("fuzz", ExecutionOptions());
    hewn_fuzz::Input input(data, size);
    const unsigned failing = unsigned(input.below(64));
    hewn_fuzz::tolerating([&] {
        const Case test = parse_case(input.rest(), "line");
        if (!test.skip.empty()) return;
        const hewn_fuzz::FailingAllocations failing_allocations(failing);
        if (test.refusal || runner.runnable.count(test.signature)) runner.run(test);
    });
}
