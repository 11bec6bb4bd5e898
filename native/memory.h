// The memory behind arrays that kernels make.
#pragma once
#include <Python.h>

#include <cstddef>

namespace rg {

constexpr size_t ALIGNMENT = 64;  // of every block: a cache line, and the widest vector register

// Both are called with the GIL held: it guards the free lists.
void* allocate(size_t bytes);  // null when there is none left
void release(void* memory);

void give_handler(PyObject* array);  // makes a new array own its memory, to be given back to `release`
bool init_memory();                  // once, with the module; false with an exception set

extern PyMethodDef memory_methods[];

}  // namespace rg
