// What normalisations share: their operands, and the three gradients that they answer.
#pragma once
#include "network.h"

namespace rg {

constexpr npy_intp PARTS = 16;  // at most so many sums of rows are made before they are added up

// The operands of a call, dense; `weight` and `bias` may be None. Moments have a line of means and one of what
// deviations from them are multiplied by.
struct NormOperands {
  PyObject *g, *x, *weight, *bias, *moments;
  double eps;
  template <class T>
  static const T* at(PyObject* array) {
    return array == Py_None ? nullptr : data<T>(array);
  }
};

// The sums of `parts` lines of n numbers.
template <class T>
void add_up(const T* lines, npy_intp parts, npy_intp n, T* to) {
  for (npy_intp i = 0; i < n; i++) {
    T sum = 0;
    for (npy_intp part = 0; part < parts; part++) sum += lines[part * n + i];
    to[i] = sum;
  }
}

// The gradients that are asked for, each an array or null.
struct NormGradients {
  PyObject *x, *weight, *bias;
  template <class T>
  static T* at(PyObject* array) {
    return array == nullptr ? nullptr : data<T>(array);
  }
};

// Whether a parameter is None, or dense, of this dtype and with `size` elements.
inline bool fits(PyObject* parameter, int type, npy_intp size) {
  return parameter == Py_None || (is_dense(parameter) && kind(parameter) == type && size_of(parameter) == size);
}

// A result and its moments.
class NormResult {
 public:
  NormResult(PyObject* x, npy_intp rows, npy_intp count = 2)
      : result_(new_like(x)), moments_(result_ ? lines(x, count, rows) : nullptr) {}
  bool failed() const { return !moments_; }
  PyObject* result() const { return result_.get(); }
  PyObject* moments() const { return moments_.get(); }
  PyObject* as_tuple() { return Py_BuildValue("(NN)", result_.release(), moments_.release()); }

 private:
  static PyObject* lines(PyObject* x, npy_intp count, npy_intp rows) {
    const npy_intp dims[] = {count, rows};
    return new_array(2, dims, kind(x));
  }
  Ref result_, moments_;
};

// The three gradients as Python gets them: None where one is not asked for.
class NormAnswer {
 public:
  NormAnswer(PyObject* x, const npy_intp* dims, int nd, long wanted)
      : x_(wanted & 1 ? new_like(x) : nullptr),
        weight_(wanted & 2 ? new_array(nd, dims, kind(x)) : nullptr),
        bias_(wanted & 4 ? new_array(nd, dims, kind(x)) : nullptr),
        wanted_(wanted) {}
  bool failed() const { return (wanted_ & 1 && !x_) || (wanted_ & 2 && !weight_) || (wanted_ & 4 && !bias_); }
  NormGradients gradients() const { return {x_.get(), weight_.get(), bias_.get()}; }
  PyObject* as_tuple() {
    return Py_BuildValue("(NNN)", or_none(x_), or_none(weight_), or_none(bias_));
  }

 private:
  static PyObject* or_none(Ref& array) { return array ? array.release() : Py_NewRef(Py_None); }
  Ref x_, weight_, bias_;
  long wanted_;
};

}  // namespace rg
