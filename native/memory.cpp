#include "memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "array.h"
#include "memory_arenas.h"
#include "memory_blocks.h"
#include "memory_slabs.h"
#include "memory_system.h"
#include "notes.h"

namespace rg {

namespace {

PyObject* handler = nullptr;
size_t small_limit = slabs::LARGEST;  // 0 when every block has to come from the system

void* handler_malloc(void*, size_t size) { return allocate(size); }

void* handler_calloc(void*, size_t count, size_t size) {
  std::ptrdiff_t bytes = static_cast<std::ptrdiff_t>(size);
  if (!grow(&bytes, static_cast<std::ptrdiff_t>(count))) return nullptr;
  void* memory = allocate(static_cast<size_t>(bytes));
  if (memory != nullptr) std::memset(memory, 0, static_cast<size_t>(bytes));
  return memory;
}

// What NumPy says about the size is not asked for: an array's dtype may have been changed since.
void handler_free(void*, void* memory, size_t) { release(memory); }

void* handler_realloc(void*, void* memory, size_t size) {
  const size_t before = slabs::owns(memory) ? slabs::size_of(memory) : blocks::size_of(memory);
  void* other = allocate(size);
  if (other == nullptr) return nullptr;
  show(memory, before);  // of all that is copied, nobody knows how much was asked for
  std::memcpy(other, memory, std::min(before, size));
  release(memory);
  return other;
}

void handler_free_told(void*, void* memory, size_t) {
  tell_freed(memory);
  release(memory);
}

// Whether a variable of the environment says something else than no.
bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::strcmp(value, "0") != 0;
}

PyDataMem_Handler table = {
    "retrograd", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};

}  // namespace

Usage usage;

void* allocate(size_t bytes) {
  if (bytes == 0) bytes = 1;
  return bytes <= small_limit ? slabs::take(bytes) : blocks::take(bytes);
}

void release(void* memory) { slabs::owns(memory) ? slabs::give(memory) : blocks::give(memory); }

void give_handler(PyObject* array) {
  auto* fields = reinterpret_cast<PyArrayObject_fields*>(array);
  fields->mem_handler = Py_NewRef(handler);
  fields->flags |= NPY_ARRAY_OWNDATA;
}

bool is_ours(PyObject* array) {
  const auto* fields = reinterpret_cast<PyArrayObject_fields*>(array);
  return fields->mem_handler == handler && (fields->flags & NPY_ARRAY_OWNDATA);
}

// A call more only while somebody wants it: NumPy calls what the table says.
void watch_frees(bool wanted) { table.allocator.free = wanted ? handler_free_told : handler_free; }

PyObject* no_memory(int nd, const npy_intp* dims, int type) {
  if (PyErr_Occurred() != nullptr) return nullptr;  // of another array of the same kernel
  Ref errors(PyImport_ImportModule("retrograd.errors"));
  Ref shape(errors ? PyArray_IntTupleFromIntp(nd, dims) : nullptr);
  Ref dtype(shape ? reinterpret_cast<PyObject*>(PyArray_DescrFromType(type)) : nullptr);
  if (!dtype) return nullptr;
  Ref error(PyObject_CallMethod(errors.get(), "out_of_memory", "OO", shape.get(), dtype.get()));
  if (error) PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  return nullptr;
}

bool init_memory() {
  if (is_set("RETROGRAD_NO_CACHE")) {
    small_limit = 0;
    blocks::set_limit(0);
  }
  if (is_set("RETROGRAD_KEEP_ARENAS")) arenas::keep(true);
  handler = PyCapsule_New(&table, "mem_handler", nullptr);
  return handler != nullptr;
}

namespace {

PyObject* memory_stats(PyObject*, PyObject*) {
  const Py_ssize_t reserved = static_cast<Py_ssize_t>(slabs::reserved() + blocks::reserved());
  const size_t limit = blocks::limit();
  return Py_BuildValue("{snsnsnsnsnsnsnsnsn}",
                       "allocated_bytes.current", usage.bytes,
                       "allocated_bytes.peak", usage.most_bytes,
                       "allocation.current", usage.blocks,
                       "allocation.peak", usage.most_blocks,
                       "allocation.allocated", usage.takes,
                       "reserved_bytes.current", reserved,
                       "kept_arena_bytes.current", static_cast<Py_ssize_t>(arenas::kept()),
                       "num_system_allocations", usage.system_takes,
                       "limit_bytes", limit > PY_SSIZE_T_MAX ? PY_SSIZE_T_MAX : static_cast<Py_ssize_t>(limit));
}

PyObject* reset_peak(PyObject*, PyObject*) {
  usage.most_bytes = usage.bytes;
  usage.most_blocks = usage.blocks;
  Py_RETURN_NONE;
}

PyObject* empty_cache(PyObject*, PyObject*) {
  slabs::trim();
  blocks::trim();
  arenas::trim();
  Py_RETURN_NONE;
}

PyObject* keep_arenas(PyObject*, PyObject* wanted) {
  const int truth = PyObject_IsTrue(wanted);
  if (truth < 0) return nullptr;
  arenas::keep(truth != 0);
  Py_RETURN_NONE;
}

PyObject* set_limit(PyObject*, PyObject* bytes) {
  const Py_ssize_t limit = PyLong_AsSsize_t(bytes);
  if (limit == -1 && PyErr_Occurred()) return nullptr;
  const size_t most = limit < 0 ? blocks::UNLIMITED : static_cast<size_t>(limit);
  blocks::set_limit(most);
  arenas::set_limit(most);
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef memory_methods[] = {
    {"empty_cache", empty_cache, METH_NOARGS, "Gives memory that no array uses back to the system."},
    {"keep_arenas", keep_arenas, METH_O, "Whether arenas of Python's wait for the next objects."},
    {"memory_stats", memory_stats, METH_NOARGS, "What the allocator counts, by name."},
    {"reset_peak_memory_stats", reset_peak, METH_NOARGS, "Starts peaks anew, at what is in use now."},
    {"set_memory_limit", set_limit, METH_O, "Bounds the bytes that are kept for reuse; -1 for no bound."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
