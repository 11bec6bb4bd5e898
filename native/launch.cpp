// Launching kernels on a GPU through its driver, which is found when the first is launched: the pack is built, and runs,
// where there is none. CuPy compiles kernels and owns arrays; this only saves the Python between a call and the driver.
#include "launch.h"

#include <cstdint>

#include "array.h"
#include "portable.h"

#if RG_WINDOWS
#include <windows.h>
#elif RG_POSIX
#include <dlfcn.h>
#endif

namespace rg {

namespace {

// cuLaunchKernel, as cuda.h declares it.
using Launch = int (*)(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, void* stream, void** arguments, void** extra);

constexpr int MOST = 64;        // arguments of a kernel
constexpr int NO_DRIVER = -1;   // what is returned where there is none; others are the driver's codes

Launch find_driver() {
#if RG_WINDOWS
  HMODULE library = LoadLibraryA("nvcuda.dll");
  return library ? reinterpret_cast<Launch>(GetProcAddress(library, "cuLaunchKernel")) : nullptr;
#elif RG_POSIX
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library ? reinterpret_cast<Launch>(dlsym(library, "cuLaunchKernel")) : nullptr;
#else
  return nullptr;
#endif
}

// The address of an array's first element: `array.data.ptr`. False with an exception if it has none.
bool address_of(PyObject* array, int64_t& address) {
  static PyObject* const data = PyUnicode_InternFromString("data");
  static PyObject* const ptr = PyUnicode_InternFromString("ptr");
  Ref memory(PyObject_GetAttr(array, data));
  if (!memory) return false;
  Ref number(PyObject_GetAttr(memory.get(), ptr));
  if (!number) return false;
  address = PyLong_AsLongLong(number.get());
  return address != -1 || !PyErr_Occurred();
}

// launch(function, blocks, threads, stream, arguments...): 0, or why the driver refused. Arguments are arrays of CuPy's,
// whole numbers (64 bits) and floats (double).
PyObject* launch(PyObject*, PyObject* const* args, Py_ssize_t count) {
  static const Launch driver = find_driver();
  if (count < 4 || count - 4 > MOST)
    return PyErr_Format(PyExc_TypeError, "launch() takes a kernel, blocks, threads, a stream and up to %d arguments", MOST);
  if (!driver) return PyLong_FromLong(NO_DRIVER);
  int64_t head[4];
  for (int i = 0; i < 4; i++) {
    head[i] = PyLong_AsLongLong(args[i]);
    if (head[i] == -1 && PyErr_Occurred()) return nullptr;
  }
  union Slot {
    int64_t whole;
    double real;
  } slots[MOST];
  void* pointers[MOST];
  for (Py_ssize_t i = 4; i < count; i++) {
    Slot& slot = slots[i - 4];
    pointers[i - 4] = &slot;
    if (PyFloat_CheckExact(args[i])) {
      slot.real = PyFloat_AS_DOUBLE(args[i]);
    } else if (PyLong_CheckExact(args[i])) {
      slot.whole = PyLong_AsLongLong(args[i]);
      if (slot.whole == -1 && PyErr_Occurred()) return nullptr;
    } else if (!address_of(args[i], slot.whole)) {
      return nullptr;
    }
  }
  const int status = driver(reinterpret_cast<void*>(head[0]), static_cast<unsigned>(head[1]), 1, 1,
                            static_cast<unsigned>(head[2]), 1, 1, 0, reinterpret_cast<void*>(head[3]), pointers, nullptr);
  return PyLong_FromLong(status);
}

}  // namespace

PyMethodDef launch_methods[] = {
    {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch)), METH_FASTCALL,
     "Launches a kernel on a GPU: 0, or the driver's reason why not."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
