#include "array.h"

#include <cstdlib>
#include <cstring>

namespace rg {

namespace {

PyObject* handler = nullptr;

void* handler_malloc(void*, size_t size) { return allocate(size); }
void* handler_calloc(void*, size_t count, size_t size) {
  void* memory = allocate(count * size);
  if (memory != nullptr) std::memset(memory, 0, count * size);
  return memory;
}
void handler_free(void*, void* memory, size_t size) { release(memory, size); }
void* handler_realloc(void*, void* memory, size_t size) { return std::realloc(memory, size); }

PyDataMem_Handler table = {
    "retrograd", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};

}  // namespace

void* allocate(size_t bytes) { return std::malloc(bytes == 0 ? 1 : bytes); }
void release(void* memory, size_t) { std::free(memory); }

void give_handler(PyObject* array) {
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(array);
  fields->mem_handler = Py_NewRef(handler);
  fields->flags |= NPY_ARRAY_OWNDATA;
}

bool init_memory() {
  handler = PyCapsule_New(&table, "mem_handler", nullptr);
  return handler != nullptr;
}

PyMethodDef memory_methods[] = {{nullptr, nullptr, 0, nullptr}};

}  // namespace rg
