#include "ending.h"

#if defined(_WIN32) /* Windows ends a thread without unwinding its stack */
#define WAIT_IF_ENDED
#define END_WAIT
#else
#include <pthread.h>
#include <unistd.h>

static void wait_for_end(void *unused) {
    (void)unused;
    for (;;) pause();
}
#define WAIT_IF_ENDED pthread_cleanup_push(wait_for_end, NULL)
#define END_WAIT pthread_cleanup_pop(0)
#endif

void hewn_take_gil(PyThreadState *thread) {
    WAIT_IF_ENDED;
    PyEval_RestoreThread(thread);
    END_WAIT;
}

PyObject *hewn_call_python(PyObject *callable, PyObject *const *arguments, size_t count,
                           PyObject *names) {
    PyObject *result;
    WAIT_IF_ENDED;
    result = PyObject_Vectorcall(callable, arguments, count, names);
    END_WAIT;
    return result;
}

PyObject *hewn_get_attribute(PyObject *object, const char *name) {
    PyObject *result;
    WAIT_IF_ENDED;
    result = PyObject_GetAttrString(object, name);
    END_WAIT;
    return result;
}
