// What the deallocators of compiled classes do, besides what mypyc has them do: see Note [Freeing deep graphs].
#ifndef RETROGRAD_FREEING_H
#define RETROGRAD_FREEING_H

#include <Python.h>

#include <stdbool.h>

#define DEEPEST 24  // ends inside each other; about 20 KB of stack where a list and a closure lie between any two

typedef struct {
    PyObject *object;
    destructor end;
} Waiting;

// The objects of this thread that are at their end: how many inside each other, and those that wait.
typedef struct {
    int depth;
    size_t count;
    size_t room;
    Waiting *waiting;
} Ending;

Ending *ending_here(void);
bool put_off(PyObject *object, destructor end);  // false where there is no memory
void end_waiting(void);

// Around the end of `self`, in its deallocator `end`, which is called again if it has to wait.
#define BEGIN_END(self, end)                                                                                    \
    {                                                                                                           \
        Ending *here = ending_here(); /* once, because a compiler would look up a variable again and again */   \
        if (here->depth >= DEEPEST && put_off((PyObject *)(self), (destructor)(end))) return;                   \
        here->depth++;

#define END_END                                                                                                 \
        if (--here->depth == 0 && here->count != 0) end_waiting();                                              \
    }

#endif
