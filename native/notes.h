// What a recording keeps of arrays.
#pragma once
#include <Python.h>

namespace rg {

// In memory.cpp:
bool is_ours(PyObject* array);  // whether an array's memory comes from our allocator
void watch_frees(bool wanted);  // whether `tell_freed` hears of arrays' memory that is given back
// In notes.cpp:
void tell_freed(void* memory);
extern PyMethodDef notes_methods[];

}  // namespace rg
