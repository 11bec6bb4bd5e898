// Dividing a loop among threads.
#pragma once
#include <Python.h>

#include <cstddef>
#include <exception>

namespace rg {

// Thrown out of a loop that Ctrl-C, or another signal whose handler raises, has ended; the exception is set.
struct Interrupted : std::exception {};

// Says that this thread runs without the GIL and may be interrupted, with this state of Python's; null: not any more.
// Only the main thread, which hears of signals, and those that heed a flag (`heed`) remember it.
void set_interruptible(PyThreadState* state);

// Asks now and then whether somebody wants a loop to end, and throws Interrupted then. Costs nothing where nobody may.
class Watch {
 public:
  Watch();
  void look() {
    if (watches_) ask();
  }

 private:
  void ask();
  bool watches_;
};

// While one lives, nothing interrupts the loops of this thread: for those that write into what a caller has.
class Whole {
 public:
  Whole();
  ~Whole();
  Whole(const Whole&) = delete;
  Whole& operator=(const Whole&) = delete;
};

int cores();    // of this machine
int threads();  // that a loop may use
void set_threads(int count);

// What a loop does with a piece of it: any body(begin, end), which outlives the loop and is not copied.
class LoopBody {
 public:
  template <class Body>
  LoopBody(const Body& body)
      : body_(&body), call_([](const void* it, std::ptrdiff_t begin, std::ptrdiff_t end) {
          (*static_cast<const Body*>(it))(begin, end);
        }) {}
  void operator()(std::ptrdiff_t begin, std::ptrdiff_t end) const { call_(body_, begin, end); }

 private:
  const void* body_;
  void (*call_)(const void*, std::ptrdiff_t, std::ptrdiff_t);
};

// Calls body(begin, end) for pieces of [0, n), each a multiple of `grain` long but for the last, on several threads if
// that is worth while. Pieces depend on n and grain alone, never on the number of threads. Called without the GIL or
// with it; the body must not touch Python. A loop inside a loop runs on the thread that asks. What a body throws comes
// out here, whichever thread it was; other pieces may have been left out then. A loop under `Unlocked(…, INTERRUPTIBLE)`
// runs the handlers of signals ten times a second, and throws Interrupted where one raises.
void parallel_for(std::ptrdiff_t n, std::ptrdiff_t grain, const LoopBody& body);

// The processor's flags that arithmetic raises where it makes a NaN or an infinity of finite numbers. Each thread has its
// own; while they are wanted, workers hand theirs over.
void want_flags(bool wanted);
void raise_flag();   // as if a loop had: for what clears the flags, or has none
bool lower_flags();  // whether one was up, in this thread or in a worker; none is then

bool init_parallel();  // once, with the module; false with an exception set

extern PyMethodDef parallel_methods[];

}  // namespace rg
