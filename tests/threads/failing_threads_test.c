/* Tests what happens if there is no memory or no thread when the library's pool starts. Results are
 * right all the same, nothing crashes in hewn_shutdown or at exit, nothing is left, and once there
 * is enough again, the pool has all its threads. Each case is a process, in which one call fails,
 * or all from one on. The linker's --wrap sends the library's calls here. The program is in C, so
 * that musl's compiler takes it as well. */
#include <hewn/hewn.h>

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPUS = 4, ELEMENTS = 1 << 18, NO_FAILURE = 10 };
enum kind { MEMORY, THREAD };

static struct {
    enum kind kind;
    int first, last; /* which calls of that kind fail */
} failing;
static int calls[2], refused, blocks, created, joined, in_libc;
static int32_t a[ELEMENTS], b[ELEMENTS], sum[ELEMENTS];

static int fails(enum kind kind) {
    const int call = calls[kind]++,
              now = kind == failing.kind && call >= failing.first && call <= failing.last;
    refused += now;
    return now;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
    if (in_libc) return __real_malloc(bytes);
    if (fails(MEMORY)) return NULL;
    return blocks++, __real_malloc(bytes);
}
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
    if (fails(MEMORY)) return ENOMEM;
    return blocks++, __real_posix_memalign(memory, alignment, bytes);
}
void __real_free(void *memory);
void __wrap_free(void *memory) {
    blocks -= memory != NULL;
    __real_free(memory);
}
int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
    int code;
    if (fails(MEMORY)) return ENOMEM;
    in_libc = 1; /* it keeps its memory */
    code = __real_pthread_atfork(prepare, parent, child);
    return in_libc = 0, code;
}
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*entry)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*entry)(void *), void *argument) {
    if (fails(THREAD)) return EAGAIN;
    return created++, __real_pthread_create(thread, attributes, entry, argument);
}
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result) {
    joined++;
    return __real_pthread_join(thread, result);
}
long __real_sysconf(int name);
long __wrap_sysconf(int name) { return name == _SC_NPROCESSORS_ONLN ? CPUS : __real_sysconf(name); }

/* Compiled by Ubuntu's g++, the library calls these functions of glibc instead of snprintf, memset
 * and others. Other C libraries do not have them. */
#if !defined(__GLIBC__)
void *__memset_chk(void *to, int byte, size_t size, size_t room) {
    return (void)room, memset(to, byte, size);
}
void *__memcpy_chk(void *to, const void *from, size_t size, size_t room) {
    return (void)room, memcpy(to, from, size);
}
void *__memmove_chk(void *to, const void *from, size_t size, size_t room) {
    return (void)room, memmove(to, from, size);
}
int __vsnprintf_chk(char *text, size_t size, int flags, size_t room, const char *format,
                    va_list arguments) {
    (void)flags, (void)room;
    return vsnprintf(text, size, format, arguments);
}
int __snprintf_chk(char *text, size_t size, int flags, size_t room, const char *format, ...) {
    va_list arguments;
    int length;
    va_start(arguments, format);
    length = __vsnprintf_chk(text, size, flags, room, format, arguments);
    va_end(arguments);
    return length;
}
#endif

static void expect(int fulfilled, const char *what) {
    if (fulfilled) return;
    fprintf(stderr, "%s: %d to %d: %s\n", failing.kind == MEMORY ? "memory" : "threads",
            failing.first, failing.last, what);
    _exit(1);
}

/* Runs after all other destructors, the library's among them. */
__attribute__((destructor(101))) static void nothing_is_left(void) {
    expect(blocks == 0, "memory was not given back");
    expect(created == joined, "threads were not joined");
}

static hewn_status compile(hewn_operator **op) {
    const int64_t size = ELEMENTS;
    const hewn_tensor_desc tensor = {sizeof tensor, HEWN_DATA_TYPE_INT32, 1, &size, NULL, NULL};
    const hewn_add_desc add = {sizeof add, &tensor, &tensor, &tensor};
    const hewn_operator_desc desc = {sizeof desc, HEWN_OPERATOR_ADD, &add};
    const hewn_compile_options options = {
        sizeof options, HEWN_FEATURE_LEVEL_NEWEST, NULL, CPUS, NULL, NULL, NULL, 0};
    return hewn_compile(NULL, &desc, &options, op, NULL);
}

static void execute(hewn_operator *op) {
    const hewn_buffer_binding inputs[] = {{sizeof inputs[0], a, 0, sizeof a},
                                          {sizeof inputs[0], b, 0, sizeof b}};
    const hewn_buffer_binding output = {sizeof output, sum, 0, sizeof sum};
    int i;
    memset(sum, 0xff, sizeof sum);
    expect(hewn_execute(op, inputs, 2, &output, 1, NULL, NULL) == HEWN_STATUS_OK, "execute failed");
    for (i = 0; i < ELEMENTS; i++) expect(sum[i] == 3 * i, "a wrong result");
}

/* Runs one case and returns its exit status: 0 if a call failed in it, NO_FAILURE if there are too
 * few calls. A case that goes wrong ends the process with 1. */
static int run(int shuts_down) {
    hewn_operator *op = NULL;
    int started, threads;
    const hewn_status status = compile(&op);
    if (status != HEWN_STATUS_OK) {
        expect(status == HEWN_STATUS_OUT_OF_MEMORY && failing.kind == MEMORY && refused > 0,
               "compile failed");
        expect(op == NULL, "there is an operator");
        return 0;
    }
    threads = refused ? 0 : CPUS - 1; /* without pthread_atfork the pool is never used */
    refused = 0;
    execute(op);
    execute(op);
    started = created;
    expect(started + refused == threads,
           "the pool did not ask for the threads of all CPUs but the caller's, once");
    if (shuts_down) {
        hewn_shutdown();
        failing.last = -1;
        execute(op);
        expect(created - started == threads,
               "after hewn_shutdown the pool does not have all threads");
        hewn_shutdown();
    }
    hewn_destroy_operator(op);
    return refused > 0 || threads == 0 ? 0 : NO_FAILURE;
}

/* The exit status of a process in which the calls `first` to `last` of a kind fail. */
static int status_of(enum kind kind, int first, int last, int shuts_down) {
    int status = 0;
    pid_t child;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        failing.kind = kind;
        failing.first = first;
        failing.last = last;
        exit(run(shuts_down));
    }
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void) {
    const char *const names[] = {"memory", "threads"};
    int kind, way, i;
    for (i = 0; i < ELEMENTS; i++) {
        a[i] = i;
        b[i] = 2 * i;
    }
    for (kind = MEMORY; kind <= THREAD; kind++) {
        for (way = 0; way < 4; way++) {
            int call = 0, status;
            while ((status = status_of(kind, call, way & 1 ? 1000000 : call, way & 2)) == 0) call++;
            printf("%s, %s, %s: %d calls\n", names[kind], way & 1 ? "all from one on" : "one",
                   way & 2 ? "shut down" : "exit", call);
            if (status != NO_FAILURE || call < CPUS - 1 || (kind == THREAD && call != CPUS - 1)) {
                printf("call %d ended with status %d\n", call, status);
                return 1;
            }
        }
    }
    return 0;
}
