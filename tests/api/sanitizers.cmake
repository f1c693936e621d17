# Tests of the API, of a few kernels and of the fake drivers, with a runtime that is built with
# AddressSanitizer and UBSan, or with ThreadSanitizer. The tests themselves, the reference and the
# kernels are those of this build. A sanitizer replaces malloc and the threads of the whole program,
# so it knows the tests' memory and locks too.

set(objects $<TARGET_OBJECTS:hewn_main_tests>)
if(HEWN_HAS_GPUS)
    list(APPEND objects $<TARGET_OBJECTS:hewn_gpu_objects>)
endif()
foreach(flavour asan tsan)
    hewn_test_program(hewn_${flavour}_tests hewn_${flavour} ${objects})
    target_link_libraries(hewn_${flavour}_tests PRIVATE ${CMAKE_DL_LIBS})
endforeach()

# hewn_add_sanitized_test(<name> <flavour> <filter> [<variable>=<value>...]): adds the test
# <flavour>.<name>, which runs the tests of the filter with the sanitizer and these variables of the
# environment.
function(hewn_add_sanitized_test name flavour filter)
    hewn_add_test(${flavour}.${name} posix
        COMMAND hewn_${flavour}_tests --gtest_brief=1 --gtest_filter=${filter}
        PROPERTIES ${old_sanitizer} COST 30
        ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1;OCL_ICD_VENDORS=/nowhere;${ARGN}")
endfunction()

set(exits Threads.ExitWhileOthersExecute)  # starts programs, each as slow as all other tests
set(kernels)
list(GET HEWN_BUILT_TARGETS 0 target)  # one is enough: the runtime is the same for all
foreach(kernel IN LISTS few_kernels)
    if(kernel IN_LIST HEWN_BUILT_SIGNATURES)
        list(APPEND kernels "*Test.*/${kernel}__${target}")
    endif()
endforeach()
list(JOIN kernels ":" kernels)
hewn_add_sanitized_test(api asan "-*Test.*/*:FpMode*:Gpu*:*OpenCl*:*Cuda*:No*:${exits}")
if(kernels)
    hewn_add_sanitized_test(kernels asan ${kernels})
endif()
if(HEWN_HAS_GPUS)
    hewn_add_sanitized_test(gpu asan "FakeOpenCl.*:FakeCuda.*" LD_LIBRARY_PATH=${fakes})
endif()
hewn_add_sanitized_test(threads tsan "Threads.*:Bound.*:Constants*-${exits}")
