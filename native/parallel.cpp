#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "array.h"
#include "portable.h"

#if RG_POSIX
#include <pthread.h>
#endif

namespace rg {

namespace {

unsigned long main_thread = 0;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds PAUSE{100};

thread_local PyThreadState* interruptible = nullptr;
thread_local Clock::time_point next_look;  // of this thread, whatever loops it runs until then
thread_local int whole = 0;
thread_local Py_buffer heeded;  // its first byte says whether nobody waits for this thread any more; `obj` null: none

constexpr int FLAGS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW;
std::atomic<bool> flags_wanted{false};
std::atomic<bool> flag{false};  // of a worker, or one that was raised for others

bool lower_own_flags() {
  if (std::fetestexcept(FLAGS) == 0) return false;
  std::feclearexcept(FLAGS);
  return true;
}

constexpr int MOST_WORKERS = 1024;
constexpr int SPINS = 30000;  // looks for the next loop, about 0.2 ms, before a worker sleeps: loops come in bursts

// Workers wait for a loop, take pieces of it until none is left, and wait again. There is one loop at a time: whoever
// comes while another runs does its own work alone.
class Pool {
 public:
  // What a body has thrown, null if nothing.
  std::exception_ptr run(std::ptrdiff_t n, std::ptrdiff_t grain, const LoopBody& body, int wanted) {
    start(wanted - 1);
    body_ = &body;
    n_ = n;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    int helpers = std::min<int>(wanted - 1, static_cast<int>(workers_));
    {
      std::lock_guard<std::mutex> hold(mutex_);
      open_.store(helpers, std::memory_order_relaxed);
      busy_.store(helpers, std::memory_order_relaxed);
      round_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    Watch watch;
    work(&watch);
    // Those who have not come by now need not: the seat is taken back, so that a sleeper costs no waiting.
    int unused = open_.exchange(0, std::memory_order_acq_rel);
    busy_.fetch_sub(unused, std::memory_order_acq_rel);
    while (busy_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
    body_ = nullptr;
    return std::exchange(thrown_, nullptr);
  }

  bool enter() { return !taken_.exchange(true, std::memory_order_acquire); }
  void leave() { taken_.store(false, std::memory_order_release); }

 private:
  void work(Watch* watch) {
    std::ptrdiff_t begin;
    try {
      while ((begin = next_.fetch_add(grain_, std::memory_order_relaxed)) < n_) {
        (*body_)(begin, std::min(begin + grain_, n_));
        if (watch != nullptr) watch->look();
      }
    } catch (...) {
      next_.store(n_, std::memory_order_relaxed);
      std::lock_guard<std::mutex> hold(mutex_);
      thrown_ = std::current_exception();
    }
  }

  // Fewer will do where the system has no more threads.
  void start(int count) {
    try {
      for (; workers_ < std::min(count, MOST_WORKERS); workers_++) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
  }

  void serve() {
    unsigned seen = 0;
    for (;;) {
      unsigned round = round_.load(std::memory_order_acquire);
      for (int i = 0; round == seen && i < SPINS; i++) {
        if (i % 64 == 63) std::this_thread::yield();
        round = round_.load(std::memory_order_acquire);
      }
      if (round == seen) {
        std::unique_lock<std::mutex> hold(mutex_);
        wake_.wait(hold, [&] { return round_.load(std::memory_order_acquire) != seen; });
        round = round_.load(std::memory_order_acquire);
      }
      seen = round;
      int seats = open_.load(std::memory_order_acquire);
      while (seats > 0 && !open_.compare_exchange_weak(seats, seats - 1, std::memory_order_acq_rel)) {
      }
      if (seats > 0) {
        work(nullptr);
        if (flags_wanted.load(std::memory_order_relaxed) && lower_own_flags()) flag.store(true, std::memory_order_relaxed);
        busy_.fetch_sub(1, std::memory_order_acq_rel);
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<bool> taken_{false};
  std::atomic<unsigned> round_{0};
  std::atomic<int> open_{0};  // seats for helpers of the running loop
  std::atomic<int> busy_{0};  // helpers that sit or may still sit down
  std::atomic<std::ptrdiff_t> next_{0};
  const LoopBody* body_ = nullptr;
  std::exception_ptr thrown_;
  std::ptrdiff_t n_ = 0;
  std::ptrdiff_t grain_ = 1;
  int workers_ = 0;
};

// Never destroyed: workers may still look at it while the process ends.
Pool* pool = new Pool;
std::atomic<int> wanted{0};

#if RG_POSIX
// In a forked child none of the workers exist; a new pool has none yet.
void after_fork() { pool = new Pool; }
const int registered = pthread_atfork(nullptr, nullptr, after_fork);
#endif

}  // namespace

void want_flags(bool wanted) { flags_wanted.store(wanted, std::memory_order_relaxed); }

void raise_flag() {
  if (flags_wanted.load(std::memory_order_relaxed)) flag.store(true, std::memory_order_relaxed);
}

bool lower_flags() {
  const bool own = lower_own_flags();
  return flag.exchange(false, std::memory_order_relaxed) || own;
}

int cores() {
  static const int found = std::max(1u, std::thread::hardware_concurrency());  // the system takes microseconds to say
  return found;
}

int threads() {
  int count = wanted.load(std::memory_order_relaxed);
  return count > 0 ? count : cores();
}

void set_interruptible(PyThreadState* state) {
  if (PyThread_get_thread_ident() != main_thread && heeded.obj == nullptr) return;
  interruptible = state;
  if (state != nullptr) next_look = Clock::now() + PAUSE;
}

Watch::Watch() : watches_(whole == 0 && interruptible != nullptr) {}

void Watch::ask() {
  if (Clock::now() < next_look) return;
  PyEval_RestoreThread(std::exchange(interruptible, nullptr));  // a handler may run loops of its own
  int raised = PyErr_CheckSignals();
  if (raised == 0 && heeded.obj != nullptr && *static_cast<const char*>(heeded.buf) != 0) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    raised = -1;
  }
  interruptible = PyEval_SaveThread();
  next_look = Clock::now() + PAUSE;
  if (raised < 0) throw Interrupted();
}

Whole::Whole() { whole++; }
Whole::~Whole() { whole--; }

void set_threads(int count) { wanted.store(count, std::memory_order_relaxed); }

void parallel_for(std::ptrdiff_t n, std::ptrdiff_t grain, const LoopBody& body) {
  if (n <= 0) return;
  int count = threads();
  if (n > grain && count > 1 && pool->enter()) {
    const auto wanted = std::min<std::ptrdiff_t>(count, (n - 1) / grain + 1);
    const std::exception_ptr thrown = pool->run(n, grain, body, static_cast<int>(wanted));
    pool->leave();
    if (thrown) std::rethrow_exception(thrown);
    return;
  }
  Watch watch;
  for (std::ptrdiff_t begin = 0; begin < n; begin += grain) {
    body(begin, std::min(begin + grain, n));
    watch.look();
  }
}

namespace {

PyObject* py_set_threads(PyObject*, PyObject* count) {
  const Py_ssize_t value = PyLong_AsSsize_t(count);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  if (value < 0) return PyErr_Format(PyExc_ValueError, "set_threads(): %zd is no number of threads", value);
  set_threads(static_cast<int>(std::min<Py_ssize_t>(value, INT_MAX)));
  Py_RETURN_NONE;
}

// Whether an array has more elements than a number says; other objects have not.
bool exceeds(PyObject* object, npy_intp limit) { return Py_IS_TYPE(object, &PyArray_Type) && size_of(object) > limit; }

// How NumPy is kept quiet, and from how many elements on an op may take long: see `backends/long_calls.py`.
PyObject* quiet_variable = nullptr;
PyObject* quiet = nullptr;
Py_ssize_t large = PY_SSIZE_T_MAX;

PyObject* set_quiet(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3 || !PyContextVar_CheckExact(args[0]))
    return PyErr_Format(PyExc_TypeError, "set_quiet() takes a context variable, its value, and a number of elements");
  const Py_ssize_t limit = PyLong_AsSsize_t(args[2]);
  if (limit == -1 && PyErr_Occurred()) return nullptr;
  Py_XSETREF(quiet_variable, Py_NewRef(args[0]));
  Py_XSETREF(quiet, Py_NewRef(args[1]));
  large = limit;
  Py_RETURN_NONE;
}

bool has_large(PyObject* list) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
    if (exceeds(PyList_GET_ITEM(list, i), large)) return true;
  return false;
}

// begin(…): sets the variable for an op on these operands, or lists of them, and gives the token; None if one is large.
PyObject* begin(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (quiet_variable == nullptr) return PyErr_Format(PyExc_RuntimeError, "begin(): set_quiet() was not called");
  for (Py_ssize_t i = 0; i < count; i++)
    if (PyList_CheckExact(args[i]) ? has_large(args[i]) : exceeds(args[i], large)) Py_RETURN_NONE;
  return PyContextVar_Set(quiet_variable, quiet);
}

PyObject* heed(PyObject*, PyObject* flag) {
  PyBuffer_Release(&heeded);
  if (flag == Py_None) Py_RETURN_NONE;
  if (PyObject_GetBuffer(flag, &heeded, PyBUF_SIMPLE) < 0) return nullptr;
  if (heeded.len > 0) Py_RETURN_NONE;
  PyBuffer_Release(&heeded);
  return PyErr_Format(PyExc_ValueError, "heed(): the flag has no byte");
}

PyObject* py_threads(PyObject*, PyObject*) { return PyLong_FromLong(threads()); }

}  // namespace

bool init_parallel() {
  Ref threading(PyImport_ImportModule("threading"));
  Ref main(threading ? PyObject_CallMethod(threading.get(), "main_thread", nullptr) : nullptr);
  Ref ident(main ? PyObject_GetAttrString(main.get(), "ident") : nullptr);
  if (!ident) return false;
  main_thread = PyLong_AsUnsignedLong(ident.get());
  return PyErr_Occurred() == nullptr;
}

PyMethodDef parallel_methods[] = {
    {"begin", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(begin)), METH_FASTCALL,
     "Keeps NumPy quiet for an op on these operands, and gives the token; None if it may take long."},
    {"set_quiet", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(set_quiet)), METH_FASTCALL,
     "Sets the context variable, its value, and the number of elements that `begin` goes by."},
    {"heed", heed, METH_O, "Ends loops of this thread, by KeyboardInterrupt, once the flag's first byte is not 0."},
    {"set_threads", py_set_threads, METH_O, "Sets how many threads a large loop may use."},
    {"threads", py_threads, METH_NOARGS, "How many threads a large loop may use."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
