/* Calls of Python in threads that the interpreter may end.
 *
 * Before Python 3.14, an interpreter that ends also ends every other thread that takes the GIL, by
 * pthread_exit. That unwinds the thread's stack. nanobind's functions are noexcept, so the process
 * would abort. These functions have a cleanup handler, which stops the unwinding: the thread waits
 * for the end of the process, as those of Python 3.14 do. They are in C, whose cleanup handlers
 * need no C++ library: this module has its own, which is not the one that unwinds.
 *
 * All that may run Python code, or give the GIL up as NumPy's conversions do, is called by these.
 */
#ifndef HEWN_PYTHON_ENDING_H
#define HEWN_PYTHON_ENDING_H

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* PyEval_RestoreThread. */
void hewn_take_gil(PyThreadState *thread);
/* PyObject_Vectorcall: `count` arguments by position, then those that `names`, a tuple or NULL,
 * has. */
PyObject *hewn_call_python(PyObject *callable, PyObject *const *arguments, size_t count,
                           PyObject *names);
/* PyObject_GetAttrString. NumPy's dtypes compute their names in Python. */
PyObject *hewn_get_attribute(PyObject *object, const char *name);

#ifdef __cplusplus
}
#endif

#endif
