/* Calls that take Python's GIL, in threads that the interpreter may end.
 *
 * When the interpreter ends, Python before 3.14 ends each other thread that takes the GIL, by
 * pthread_exit. That unwinds the thread's frames as an exception does, but nanobind's let none
 * through, and this module's C++ library is its own, not the one that unwinds: the process would
 * abort. Such a thread waits here for the end of the process, as Python 3.14's do. In C, whose
 * cleanup handlers need no C++ library. */
#ifndef HEWN_PYTHON_ENDING_H
#define HEWN_PYTHON_ENDING_H

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* PyEval_RestoreThread. */
void hewn_take_gil(PyThreadState *thread);
/* PyObject_Vectorcall without keywords. */
PyObject *hewn_call_python(PyObject *callable, PyObject *const *arguments, size_t count);

#ifdef __cplusplus
}
#endif

#endif
