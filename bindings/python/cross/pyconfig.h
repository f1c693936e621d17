/* What Python.h asks of the platform, for extensions on 64-bit systems, whichever they are: cross
 * builds have it in the place of the pyconfig.h of the headers' own system. The stable ABI needs
 * less of it than the ABI of one version. Py_GIL_DISABLED is CMake's to say. */
#ifndef Py_PYCONFIG_H
#define Py_PYCONFIG_H
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_LONG_LONG 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define SIZEOF_PID_T 4
#define HAVE_STDINT_H 1
#define HAVE_LONG_LONG 1
#if defined(_WIN32)
#define MS_WINDOWS 1
#define MS_WIN64 1
#define SIZEOF_LONG 4
#define SIZEOF_WCHAR_T 2
#define Py_ENABLE_SHARED 1
#define NT_THREADS 1
#define HAVE_DECLSPEC_DLL 1
#else
#define SIZEOF_LONG 8
#define SIZEOF_WCHAR_T 4
#define HAVE_UNISTD_H 1
#define HAVE_PTHREAD_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_WCHAR_H 1
#define HAVE_SSIZE_T 1
#define PTHREAD_KEY_T_IS_COMPATIBLE_WITH_INT 1
#endif
#endif
