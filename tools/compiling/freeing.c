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
#include "freeing.h"

#if defined(_MSC_VER)
#define PER_THREAD __declspec(thread)
#else
#define PER_THREAD __thread
#endif

static PER_THREAD Ending ending;

Ending *ending_here(void) { return &ending; }

bool put_off(PyObject *object, destructor end) {
    if (ending.count == ending.room) {
        size_t more = ending.room == 0 ? 64 : 2 * ending.room;
        Waiting *larger = PyMem_RawRealloc(ending.waiting, more * sizeof(Waiting));
        if (larger == NULL) return false;
        ending.waiting = larger;
        ending.room = more;
    }
    ending.waiting[ending.count++] = (Waiting){object, end};
    return true;
}

void end_waiting(void) {
    ending.depth = 1;
    while (ending.count != 0) {
        Waiting next = ending.waiting[--ending.count];
        next.end(next.object);
    }
    ending.depth = 0;
    PyMem_RawFree(ending.waiting);
    ending.waiting = NULL;
    ending.room = 0;
}
