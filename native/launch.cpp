// Launching kernels on a GPU through its driver, which is found when the first is launched: the pack is built, and runs,
// where there is none. CuPy compiles kernels; this only saves the Python between a call and the driver.
#include "launch.h"

#include <cstdint>

#include "array.h"
#include "gpu.h"
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

constexpr int MOST = 64;       // arguments of a kernel
constexpr int NO_DRIVER = -1;  // a code where there is none; others are the driver's

PyObject* on_refusal = nullptr;  // called with the driver's code: makes the GPU known to this thread, or raises

Launch driver() {
#if RG_WINDOWS
  static HMODULE const library = LoadLibraryA("nvcuda.dll");
  static const auto found = library ? reinterpret_cast<Launch>(GetProcAddress(library, "cuLaunchKernel")) : nullptr;
#elif RG_POSIX
  static void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  static const auto found = library ? reinterpret_cast<Launch>(dlsym(library, "cuLaunchKernel")) : nullptr;
#else
  static const Launch found = nullptr;
#endif
  return found;
}

int start(void* function, unsigned blocks, unsigned rows, unsigned threads, unsigned shared, void* stream, void** arguments) {
  const Launch go = driver();
  return go == nullptr ? NO_DRIVER : go(function, blocks, rows, 1, threads, 1, 1, shared, stream, arguments, nullptr);
}

// The address of an array's first element: `array.data.ptr`. False with an exception if it has none.
bool address_of(PyObject* array, int64_t& address) {
  if (gpu::is_array(array)) {
    address = gpu::as_cupy(array)->data->address;
    return true;
  }
  static PyObject* const data = PyUnicode_InternFromString("data");
  static PyObject* const ptr = PyUnicode_InternFromString("ptr");
  Ref memory(PyObject_GetAttr(array, data));
  if (!memory) return false;
  Ref number(PyObject_GetAttr(memory.get(), ptr));
  if (!number) return false;
  address = PyLong_AsLongLong(number.get());
  return address != -1 || !PyErr_Occurred();
}

union Slot {
  int64_t whole;
  double real;
};

bool read(PyObject* argument, Slot& slot) {
  if (PyFloat_CheckExact(argument)) {
    slot.real = PyFloat_AS_DOUBLE(argument);
  } else if (argument == Py_None) {
    slot.whole = 0;
  } else if (PyLong_Check(argument)) {
    slot.whole = PyLong_AsLongLong(argument);
    return slot.whole != -1 || !PyErr_Occurred();
  } else {
    return address_of(argument, slot.whole);
  }
  return true;
}

// launch(function, blocks, threads, stream, shared, arguments...): 0, or why the driver refused. Blocks are a number or
// a pair of them. Arguments are arrays of CuPy's, whole numbers (64 bits), floats (double), and None for null.
PyObject* launch_python(PyObject*, PyObject* const* args, Py_ssize_t count) {
  constexpr int HEAD = 5;
  if (count < HEAD || count - HEAD > MOST)
    return PyErr_Format(PyExc_TypeError, "launch() takes a kernel, blocks, threads, a stream, bytes and up to %d arguments", MOST);
  int64_t head[HEAD], rows = 1;
  for (int i = 0; i < HEAD; i++) {
    PyObject* value = args[i];
    if (i == 1 && PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2) {
      rows = PyLong_AsLongLong(PyTuple_GET_ITEM(value, 1));
      value = PyTuple_GET_ITEM(value, 0);
    }
    head[i] = PyLong_AsLongLong(value);
    if ((head[i] == -1 || rows == -1) && PyErr_Occurred()) return nullptr;
  }
  Slot slots[MOST];
  void* pointers[MOST];
  for (Py_ssize_t i = HEAD; i < count; i++) {
    pointers[i - HEAD] = &slots[i - HEAD];
    if (!read(args[i], slots[i - HEAD])) return nullptr;
  }
  return PyLong_FromLong(start(reinterpret_cast<void*>(head[0]), static_cast<unsigned>(head[1]),
                               static_cast<unsigned>(rows), static_cast<unsigned>(head[2]), static_cast<unsigned>(head[4]),
                               reinterpret_cast<void*>(head[3]), pointers));
}

PyObject* set_launch_refusal(PyObject*, PyObject* function) {
  Py_XSETREF(on_refusal, Py_NewRef(function));
  Py_RETURN_NONE;
}

}  // namespace

bool gpu::launch(void* function, unsigned blocks, unsigned rows, unsigned threads, void** arguments) {
  int status = start(function, blocks, rows, threads, 0, stream(), arguments);
  if (status == 0) return true;
  if (!gpu::refused(status)) return false;
  status = start(function, blocks, rows, threads, 0, stream(), arguments);
  if (status != 0) PyErr_Format(PyExc_RuntimeError, "CUDA error %d: the driver does not launch a kernel", status);
  return status == 0;
}

bool gpu::refused(int status) {
  if (on_refusal == nullptr) {
    PyErr_Format(PyExc_RuntimeError, "CUDA error %d: the driver does not launch a kernel", status);
    return false;
  }
  Ref code(PyLong_FromLong(status));
  Ref answer(code ? PyObject_CallOneArg(on_refusal, code.get()) : nullptr);
  return static_cast<bool>(answer);
}

PyMethodDef launch_methods[] = {
    {"launch", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(launch_python)), METH_FASTCALL,
     "Launches a kernel on a GPU: 0, or the driver's reason why not."},
    {"set_launch_refusal", set_launch_refusal, METH_O,
     "Sets what is called with the driver's reason: it makes the GPU known to this thread, or raises."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
