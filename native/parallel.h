// Dividing a loop among threads.
#pragma once
#include <Python.h>

#include <cstddef>
#include <functional>

namespace rg {

int cores();    // of this machine
int threads();  // that a loop may use
void set_threads(int count);

// Calls body(begin, end) for pieces of [0, n), each a multiple of `grain` long but for the last, on several threads if
// that is worth while. Pieces depend on n and grain alone, never on the number of threads. Called without the GIL or
// with it; the body must not touch Python. A loop inside a loop runs on the thread that asks.
void parallel_for(std::ptrdiff_t n, std::ptrdiff_t grain, const std::function<void(std::ptrdiff_t, std::ptrdiff_t)>& body);

extern PyMethodDef parallel_methods[];

}  // namespace rg
