// Small matrices: LU with row pivots, its permutation, and triangular systems. Large ones are products for BLAS.
#include <cmath>
#include <utility>

#include "network.h"

namespace rg {

namespace {

constexpr npy_intp SIDE = 48;  // rows and columns of a matrix that is small

// A batch of small matrices: the last two dimensions of an array.
struct Matrices {
  npy_intp count, rows, columns;
  npy_intp size() const { return rows * columns; }
};

// False where an array holds none, or too many.
bool find_matrices(PyObject* array, Matrices* found) {
  Array* a = as_array(array);
  const int nd = PyArray_NDIM(a);
  if (nd < 2 || size_of(array) == 0 || size_of(array) >= LARGE) return false;
  *found = {1, PyArray_DIM(a, nd - 2), PyArray_DIM(a, nd - 1)};
  for (int d = 0; d < nd - 2; d++) found->count *= PyArray_DIM(a, d);
  return found->rows <= SIDE && found->columns <= SIDE;
}

// -- LU ------------------------------------------------------------------------------------------------------------

// The row of the largest element of a column, from its diagonal on; the first NaN is the largest.
template <class T>
npy_intp pivot_row(const T* lu, npy_intp rows, npy_intp columns, npy_intp j) {
  npy_intp best = j;
  for (npy_intp i = j; i < rows; i++) {
    const T size = std::fabs(lu[i * columns + j]);
    if (std::isnan(size)) return i;
    if (size > std::fabs(lu[best * columns + j])) best = i;
  }
  return best;
}

// Factors a matrix in place; what LAPACK calls `info`.
template <class T>
npy_int32 factor(T* lu, npy_int32* pivots, npy_intp rows, npy_intp columns) {
  npy_int32 info = 0;
  for (npy_intp j = 0; j < rows && j < columns; j++) {
    const npy_intp found = pivot_row(lu, rows, columns, j);
    pivots[j] = static_cast<npy_int32>(found + 1);
    if (found != j)
      for (npy_intp k = 0; k < columns; k++) std::swap(lu[found * columns + k], lu[j * columns + k]);
    const T* row = lu + j * columns;
    if (row[j] == 0 && info == 0) info = static_cast<npy_int32>(j + 1);
    for (npy_intp i = j + 1; i < rows; i++) {
      T* below = lu + i * columns;
      if (row[j] != 0) below[j] /= row[j];
      for (npy_intp k = j + 1; k < columns; k++) below[k] -= below[j] * row[k];
    }
  }
  return info;
}

template <class T>
void factor_all(PyObject* lu, PyObject* pivots, PyObject* info, const Matrices& m) {
  const npy_intp steps = m.rows < m.columns ? m.rows : m.columns;
  for (npy_intp b = 0; b < m.count; b++)
    data<npy_int32>(info)[b] =
        factor(data<T>(lu) + b * m.size(), data<npy_int32>(pivots) + b * steps, m.rows, m.columns);
}

// (a): L and U in one matrix, the pivots, and where the first zero on the diagonal is
PyObject* py_lu(PyObject*, Args args, Py_ssize_t count) {
  Matrices m;
  if (count != 1 || !is_real(args[0]) || !find_matrices(args[0], &m)) return not_served();
  Array* a = as_array(args[0]);
  const int nd = PyArray_NDIM(a);
  npy_intp dims[NPY_MAXDIMS];
  for (int d = 0; d < nd - 2; d++) dims[d] = PyArray_DIM(a, d);
  dims[nd - 2] = m.rows < m.columns ? m.rows : m.columns;
  Ref lu(new_like(args[0])), pivots(new_array(nd - 1, dims, NPY_INT32)), info(new_array(nd - 2, dims, NPY_INT32));
  if (!lu || !pivots || !info || PyArray_CopyInto(as_array(lu.get()), a) < 0) return nullptr;
  if (kind(lu.get()) == NPY_FLOAT)
    factor_all<float>(lu.get(), pivots.get(), info.get(), m);
  else
    factor_all<double>(lu.get(), pivots.get(), info.get(), m);
  return PyTuple_Pack(3, lu.get(), pivots.get(), info.get());
}

// -- permutations --------------------------------------------------------------------------------------------------

// The matrix of the swaps of rows that pivots name. False if one names no row.
template <class T>
bool permute(const npy_int32* pivots, npy_intp steps, T* matrix, npy_intp rows) {
  npy_intp order[SIDE];
  for (npy_intp i = 0; i < rows; i++) order[i] = i;
  for (npy_intp j = 0; j < steps; j++) {
    const npy_intp other = pivots[j] - npy_intp(1);
    if (other < 0 || other >= rows || j >= rows) return false;
    std::swap(order[j], order[other]);
  }
  for (npy_intp i = 0; i < rows * rows; i++) matrix[i] = 0;
  for (npy_intp i = 0; i < rows; i++) matrix[order[i] * rows + i] = 1;
  return true;
}

template <class T>
bool permute_all(PyObject* pivots, npy_intp steps, PyObject* out, const Matrices& m) {
  for (npy_intp b = 0; b < m.count; b++)
    if (!permute(data<npy_int32>(pivots) + b * steps, steps, data<T>(out) + b * m.size(), m.rows)) return false;
  return true;
}

// (pivots, rows, dtype)
PyObject* py_permutation(PyObject*, Args args, Py_ssize_t count) {
  long rows;
  if (count != 3 || !PyLong_CheckExact(args[1]) || !PyArray_DescrCheck(args[2])) return not_served();
  if (!read_whole(args[1], &rows)) return PyErr_Clear(), not_served();
  const int type = reinterpret_cast<PyArray_Descr*>(args[2])->type_num;
  if (rows < 1 || rows > SIDE || !is_float(type) || !is_of(args[0], NPY_INT32) || !is_dense(args[0])) return not_served();
  Array* pivots = as_array(args[0]);
  const int nd = PyArray_NDIM(pivots);
  if (nd < 1 || nd >= NPY_MAXDIMS || size_of(args[0]) == 0 || size_of(args[0]) >= LARGE) return not_served();
  const npy_intp steps = PyArray_DIM(pivots, nd - 1);
  const Matrices m{size_of(args[0]) / steps, rows, rows};
  if (m.count * m.size() >= LARGE) return not_served();
  npy_intp dims[NPY_MAXDIMS];
  for (int d = 0; d < nd - 1; d++) dims[d] = PyArray_DIM(pivots, d);
  dims[nd - 1] = dims[nd] = rows;
  Ref out(new_array(nd + 1, dims, type));
  if (!out) return nullptr;
  const bool done = type == NPY_FLOAT ? permute_all<float>(args[0], steps, out.get(), m)
                                      : permute_all<double>(args[0], steps, out.get(), m);
  return done ? out.release() : not_served();
}

// -- triangular systems --------------------------------------------------------------------------------------------

// Solves A @ X = B in the memory of B, row by row, from the side where the triangle is short.
template <class T>
void substitute(const T* a, T* x, npy_intp n, npy_intp width, bool upper, bool unit) {
  for (npy_intp step = 0; step < n; step++) {
    const npy_intp i = upper ? n - 1 - step : step, first = upper ? i + 1 : 0, last = upper ? n : i;
    T* row = x + i * width;
    for (npy_intp j = first; j < last; j++)
      for (npy_intp k = 0; k < width; k++) row[k] -= a[i * n + j] * x[j * width + k];
    if (!unit)
      for (npy_intp k = 0; k < width; k++) row[k] /= a[i * n + i];
  }
}

template <class T>
void substitute_all(PyObject* a, PyObject* x, const Matrices& m, const Matrices& right, bool upper, bool unit) {
  for (npy_intp b = 0; b < m.count; b++)
    substitute(data<T>(a) + b * m.size(), data<T>(x) + b * right.size(), m.rows, right.columns, upper, unit);
}

// (a, b, upper, unit): X of A @ X = B
PyObject* py_solve_triangle(PyObject*, Args args, Py_ssize_t count) {
  Matrices m, right;
  if (count != 4 || !is_real(args[0]) || !is_of(args[1], kind(args[0]))) return not_served();
  if (!find_matrices(args[0], &m) || !find_matrices(args[1], &right)) return not_served();
  const int nd = PyArray_NDIM(as_array(args[0]));
  const npy_intp *dims = PyArray_DIMS(as_array(args[0])), *others = PyArray_DIMS(as_array(args[1]));
  if (m.rows != m.columns || m.rows != right.rows || nd != PyArray_NDIM(as_array(args[1]))) return not_served();
  if (!PyArray_CompareLists(dims, others, nd - 2)) return not_served();
  Ref a(dense(args[0])), x(new_like(args[1]));
  if (!a || !x || PyArray_CopyInto(as_array(x.get()), as_array(args[1])) < 0) return nullptr;
  const bool upper = args[2] == Py_True, unit = args[3] == Py_True;
  if (kind(x.get()) == NPY_FLOAT)
    substitute_all<float>(a.get(), x.get(), m, right, upper, unit);
  else
    substitute_all<double>(a.get(), x.get(), m, right, upper, unit);
  return x.release();
}

}  // namespace

PyMethodDef factor_methods[] = {
    method<py_lu>("lu", "lu(a): L and U in one matrix, pivots, and where a zero stopped it; or None."),
    method<py_permutation>("permutation", "permutation(pivots, rows, dtype): the matrix of swaps of rows, or None."),
    method<py_solve_triangle>("solve_triangle", "solve_triangle(a, b, upper, unit): X of A @ X = B, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
