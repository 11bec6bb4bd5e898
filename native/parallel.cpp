#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace rg {

namespace {

using Body = std::function<void(std::ptrdiff_t, std::ptrdiff_t)>;

constexpr int SPINS = 30000;  // looks for the next loop, about 0.2 ms, before a worker sleeps: loops come in bursts

// Workers wait for a loop, take pieces of it until none is left, and wait again. There is one loop at a time: whoever
// comes while another runs does its own work alone.
class Pool {
 public:
  void run(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body, int wanted) {
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
    work();
    // Those who have not come by now need not: the seat is taken back, so that a sleeper costs no waiting.
    int unused = open_.exchange(0, std::memory_order_acq_rel);
    busy_.fetch_sub(unused, std::memory_order_acq_rel);
    while (busy_.load(std::memory_order_acquire) > 0) std::this_thread::yield();
    body_ = nullptr;
  }

  bool enter() { return !taken_.exchange(true, std::memory_order_acquire); }
  void leave() { taken_.store(false, std::memory_order_release); }

 private:
  void work() {
    std::ptrdiff_t begin;
    while ((begin = next_.fetch_add(grain_, std::memory_order_relaxed)) < n_)
      (*body_)(begin, std::min(begin + grain_, n_));
  }

  void start(int count) {
    while (workers_ < count) {
      workers_++;
      std::thread([this] { serve(); }).detach();
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
        work();
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
  const Body* body_ = nullptr;
  std::ptrdiff_t n_ = 0;
  std::ptrdiff_t grain_ = 1;
  int workers_ = 0;
};

// Never destroyed: workers may still look at it while the process ends.
Pool* pool = new Pool;
std::atomic<int> wanted{0};

#ifndef _WIN32
// In a forked child none of the workers exist; a new pool has none yet.
void after_fork() { pool = new Pool; }
const int registered = pthread_atfork(nullptr, nullptr, after_fork);
#endif

}  // namespace

int cores() {
  static const int found = std::max(1u, std::thread::hardware_concurrency());  // the system takes microseconds to say
  return found;
}

int threads() {
  int count = wanted.load(std::memory_order_relaxed);
  return count > 0 ? count : cores();
}

void set_threads(int count) { wanted.store(count, std::memory_order_relaxed); }

void parallel_for(std::ptrdiff_t n, std::ptrdiff_t grain, const Body& body) {
  if (n <= 0) return;
  int count = threads();
  if (n > grain && count > 1 && pool->enter()) {
    pool->run(n, grain, body, static_cast<int>(std::min<std::ptrdiff_t>(count, (n + grain - 1) / grain)));
    pool->leave();
    return;
  }
  for (std::ptrdiff_t begin = 0; begin < n; begin += grain) body(begin, std::min(begin + grain, n));
}

namespace {

PyObject* py_set_threads(PyObject*, PyObject* count) {
  long value = PyLong_AsLong(count);
  if (value == -1 && PyErr_Occurred()) return nullptr;
  set_threads(static_cast<int>(value));
  Py_RETURN_NONE;
}

PyObject* py_threads(PyObject*, PyObject*) { return PyLong_FromLong(threads()); }

}  // namespace

PyMethodDef parallel_methods[] = {
    {"set_threads", py_set_threads, METH_O, "Sets how many threads a large loop may use."},
    {"threads", py_threads, METH_NOARGS, "How many threads a large loop may use."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
