/* Calls of Python that are safe in threads which the interpreter may end.
 *
 * Before Python 3.14, an interpreter that ends also ends every other thread that takes the GIL. It
 * does so by pthread_exit, which unwinds the thread's stack. nanobind's functions are noexcept, so
 * the process would abort. The functions below have a cleanup handler that stops the unwinding: the
 * thread then waits for the end of the process, as threads of Python 3.14 do. They are written in
 * C, because cleanup handlers in C need no C++ library: the one inside this module is not the one
 * that unwinds.
 *
 * The module uses these functions for every call that may run Python code, or that may give up the
 * GIL, as NumPy's conversions do.
 */
#ifndef HEWN_PYTHON_ENDING_H
#define HEWN_PYTHON_ENDING_H

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As PyEval_RestoreThread. */
void hewn_take_gil(PyThreadState *thread);
/* As PyObject_Vectorcall: `arguments` has `count` arguments by position, followed by the values of
 * the keyword arguments in the tuple `names`, which may be NULL. */
PyObject *hewn_call_python(PyObject *callable, PyObject *const *arguments, size_t count,
                           PyObject *names);
/* As PyObject_GetAttrString. It may run Python code: NumPy's dtypes compute their names there. */
PyObject *hewn_get_attribute(PyObject *object, const char *name);

#ifdef __cplusplus
}
#endif

#endif
