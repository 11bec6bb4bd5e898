// How objects of compiled classes end, part of the library that mypyc makes.
//
// Note [Freeing deep graphs]
// ~~~~~~~~~~~~~~~~~~~~~~~~~~
// A node owns the nodes after it, so the end of one is the end of the next, and a chain of a million of them would be a
// million calls deep. Python has a remedy, the trashcan, but not one to count on: Python 3.13 lets ten thousand calls
// nest before it helps, which is more than the stack of a small thread can hold, and 3.11 and 3.12 do not help where a
// user's class derives from ours. So objects of compiled classes have one of their own. An object whose end comes inside
// that of several others waits in a list of its thread, and the outermost of those ends it when it is done itself.
// Whatever lies between two objects of ours (lists, closures, a user's attributes) goes no deeper than they do.
//
// A deallocator asks when it has untracked its object and told weak references. The deallocator of a user's class has
// then done its own part and does not look at the object again, so that it may wait there too.
//
// The interpreted classes, which have no deallocators of their own, do the same in core/plain.py.
#include <Python.h>

#include <stdbool.h>

#if defined(_MSC_VER)
#define PER_THREAD __declspec(thread)
#else
#define PER_THREAD __thread
#endif

#define DEEPEST 24  // ends inside each other; about 20 KB of stack where a list and a closure lie between any two

typedef struct {
    PyObject *object;
    destructor end;
} Waiting;

static PER_THREAD int depth;
static PER_THREAD Waiting *waiting;
static PER_THREAD size_t count;
static PER_THREAD size_t room;

static bool put_off(PyObject *object, destructor end) {
    if (count == room) {
        size_t more = room == 0 ? 64 : 2 * room;
        Waiting *larger = PyMem_RawRealloc(waiting, more * sizeof(Waiting));
        if (larger == NULL) return false;
        waiting = larger;
        room = more;
    }
    waiting[count++] = (Waiting){object, end};
    return true;
}

// Whether an object has to wait; `end` is called again then. If not, retrograd_ended() must follow.
bool retrograd_ends_later(PyObject *object, destructor end) {
    if (depth >= DEEPEST && put_off(object, end)) return true;
    depth++;
    return false;
}

void retrograd_ended(void) {
    if (depth == 1 && count != 0) {
        while (count != 0) {
            Waiting next = waiting[--count];
            next.end(next.object);
        }
        PyMem_RawFree(waiting);
        waiting = NULL;
        room = 0;
    }
    depth--;
}
