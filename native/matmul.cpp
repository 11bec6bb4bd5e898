#include "matmul.h"

#include <algorithm>

#include "entry.h"
#include "gemm.h"
#include "isa.h"
#include "network.h"

namespace rg {

namespace {

constexpr int DIMS = 8;                // more dimensions are NumPy's
constexpr double UNLOCKED = 1 << 17;   // products from which the GIL is given up
enum Turned { NEITHER, LEFT, RIGHT };  // which operand's last two dimensions are exchanged

// An operand as matrices: steps in elements; a vector is a matrix of one row or one column.
struct Factor {
  PyObject* array;
  int batch;  // how many dimensions are in front of the last two
  npy_intp rows, columns, row, column;
  npy_intp steps[DIMS];  // of those in front, 0 where there is only one matrix
};

npy_intp step_of(Array* a, int axis) { return PyArray_STRIDE(a, axis) / PyArray_ITEMSIZE(a); }

bool read_factor(PyObject* object, bool turned, bool left, Factor* f) {
  if (!is_plain(object) || !is_number(kind(object))) return false;
  Array* a = as_array(object);
  int nd = PyArray_NDIM(a);
  if (nd < 1 || nd > DIMS) return false;
  f->array = object;
  f->batch = std::max(nd - 2, 0);
  if (nd == 1) {
    npy_intp n = PyArray_DIM(a, 0), step = step_of(a, 0);
    f->rows = left ? 1 : n, f->columns = left ? n : 1;
    f->row = left ? n * step : step, f->column = left ? step : 1;
    return !turned;
  }
  for (int d = 0; d < f->batch; d++) f->steps[d] = PyArray_DIM(a, d) > 1 ? step_of(a, d) : 0;
  f->rows = PyArray_DIM(a, nd - 2), f->columns = PyArray_DIM(a, nd - 1);
  f->row = step_of(a, nd - 2), f->column = step_of(a, nd - 1);
  if (turned) {
    std::swap(f->rows, f->columns);
    std::swap(f->row, f->column);
  }
  return true;
}

// Two operands and the dimensions in front of their matrices, in which they may be broadcast.
struct Pair {
  Factor a, b;
  Sizes sizes;
  int nd;  // of the result
  npy_intp shape[DIMS + 2];
  npy_intp count;  // of matrices
};

bool read_batch(Pair* p) {
  int lead = std::max(p->a.batch, p->b.batch);
  p->count = 1;
  for (int i = 0; i < lead; i++) {
    int in_a = i - (lead - p->a.batch), in_b = i - (lead - p->b.batch);
    npy_intp n = in_a < 0 ? 1 : PyArray_DIM(as_array(p->a.array), in_a);
    npy_intp m = in_b < 0 ? 1 : PyArray_DIM(as_array(p->b.array), in_b);
    if (n != m && n != 1 && m != 1) return false;
    p->shape[i] = n == 1 ? m : n;
  }
  if (!grow(&p->count, lead, p->shape)) return false;
  p->nd = lead;
  return true;
}

// Of numbers of any kind.
bool read_numbers(PyObject* x, PyObject* y, Turned turned, Pair* p) {
  if (!read_factor(x, turned == LEFT, true, &p->a) || !read_factor(y, turned == RIGHT, false, &p->b)) return false;
  if (kind(x) != kind(y) || p->a.columns != p->b.rows || !read_batch(p)) return false;
  p->sizes = {p->a.rows, p->b.columns, p->a.columns};
  if (PyArray_NDIM(as_array(x)) > 1) p->shape[p->nd++] = p->a.rows;
  if (PyArray_NDIM(as_array(y)) > 1) p->shape[p->nd++] = p->b.columns;
  return true;
}

bool read_pair(PyObject* x, PyObject* y, Turned turned, Pair* p) {
  return is_real(x) && read_numbers(x, y, turned, p);
}

// The matrix of an operand that goes with matrix `i` of the result.
template <class T>
Matrix<T> matrix_at(const Factor& f, const Pair& p, npy_intp i) {
  int lead = std::max(p.a.batch, p.b.batch);
  npy_intp at = 0;
  for (int d = lead - 1, axis = f.batch - 1; axis >= 0; d--, axis--) {
    npy_intp size = p.shape[d], place = i % size;
    i /= size;
    at += place * f.steps[axis];
  }
  return {data<T>(f.array) + at, f.row, f.column};
}

template <class T>
void multiply_all(const Pair& p, T* out, Matrix<T> plus) {
  const Sizes s = p.sizes;
  const Index size = s.m * s.n;
  if (p.count == 1 || s.work() >= SHARED_WORK) {
    for (Index i = 0; i < p.count; i++)
      multiply_shared<T>(s, matrix_at<T>(p.a, p, i), matrix_at<T>(p.b, p, i), {out + i * size, s.n, plus});
    return;
  }
  Index grain = static_cast<Index>(SHARED_WORK / (s.work() + 1024)) + 1;
  parallel_for(p.count, grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; i++)
      multiply<T>(s, matrix_at<T>(p.a, p, i), matrix_at<T>(p.b, p, i), {out + i * size, s.n, plus});
  });
}

template <class T>
PyObject* product_of(const Pair& p, Matrix<T> plus) {
  Ref out(new_array(p.nd, p.shape, kind(p.a.array)));
  if (!out || size_of(out.get()) == 0) return out.release();
  double work = p.sizes.work() * static_cast<double>(p.count);
  if (work < UNLOCKED && p.count == 1) {
    multiply<T>(p.sizes, matrix_at<T>(p.a, p, 0), matrix_at<T>(p.b, p, 0), {data<T>(out.get()), p.sizes.n, plus});
    return out.release();
  }
  {
    Unlocked unlocked(work >= UNLOCKED, INTERRUPTIBLE);
    multiply_all<T>(p, data<T>(out.get()), plus);
  }
  return out.release();
}

PyObject* product(const Pair& p) {
  return kind(p.a.array) == NPY_FLOAT ? product_of<float>(p, NOTHING<float>) : product_of<double>(p, NOTHING<double>);
}

// The work of one product of matrices from which BLAS is quicker, by measurement: 580 cubed in single and 390 cubed in
// double precision; 190 cubed with shorter registers or many cores, among which BLAS divides it better. BLAS's threads
// look for more work long after a product, and take processors from other kernels' threads; so where both are about as
// quick it is done here. This must not depend on how many threads are allowed, or else bits would.
double blas_work(int type) {
  static const bool wide = isa() == Isa::avx512 && cores() <= 8;
  return !wide ? 7e6 : type == NPY_FLOAT ? 2e8 : 6e7;
}

// Whether the product is worth the way through here.
bool serves(const Pair& p) { return p.sizes.work() < blas_work(kind(p.a.array)); }

constexpr double STRIP = 1e10;  // the work of a strip: some tenths of a second

// A product of a dtype that BLAS does not have takes NumPy longer; complex numbers are four times the work.
double strip_work(const Pair& p) {
  const int type = kind(p.a.array);
  const double each = is_float(type) ? 1 : PyTypeNum_ISCOMPLEX(type) ? 4 : 30;
  return each * p.sizes.work() * static_cast<double>(p.count);
}

int ndim(PyObject* array) { return PyArray_NDIM(as_array(array)); }

// What of an operand goes with some of the entries of a result along its first dimension: all where it is broadcast.
PyObject* part_of(PyObject* operand, PyObject* out, npy_intp from, npy_intp to) {
  const bool whole = ndim(operand) < ndim(out) || PyArray_DIM(as_array(operand), 0) == 1;
  return whole ? Py_NewRef(operand) : PySequence_GetSlice(operand, from, to);
}

// The same for a single entry, without that dimension.
PyObject* entry_of(PyObject* operand, PyObject* out) {
  return ndim(operand) < ndim(out) ? Py_NewRef(operand) : PySequence_GetItem(operand, 0);
}

// A product that takes BLAS seconds, some matrices or rows at a time: signals are answered between them. False with an
// exception set.
bool multiply_in_strips(PyObject* self, PyObject* a, PyObject* b, PyObject* out, double work) {
  const npy_intp n = PyArray_DIM(as_array(out), 0);
  const bool rows = ndim(out) == 2;
  if (work <= 2 * STRIP || (rows && n == 1)) {
    PyObject* const given[] = {a, b, out};
    Ref done(by_numpy(self, given, 3, nullptr));
    return done && PyErr_CheckSignals() == 0;
  }
  if (n == 1) {
    Ref first(entry_of(a, out)), second(entry_of(b, out)), result(PySequence_GetItem(out, 0));
    return first && second && result && multiply_in_strips(self, first.get(), second.get(), result.get(), work);
  }
  const npy_intp step = static_cast<npy_intp>(STRIP * static_cast<double>(n) / work) + 1;
  for (npy_intp from = 0; from < n; from += step) {
    const npy_intp to = std::min(from + step, n);
    Ref first(rows ? PySequence_GetSlice(a, from, to) : part_of(a, out, from, to));
    Ref second(rows ? Py_NewRef(b) : part_of(b, out, from, to));
    Ref result(PySequence_GetSlice(out, from, to));
    const double share = work * static_cast<double>(to - from) / static_cast<double>(n);
    if (!first || !second || !result || !multiply_in_strips(self, first.get(), second.get(), result.get(), share))
      return false;
  }
  return true;
}

PyObject* product_in_strips(PyObject* self, Args args, const Pair& p, double work) {
  Ref out(new_array(p.nd, p.shape, kind(p.a.array)));
  return out && multiply_in_strips(self, args[0], args[1], out.get(), work) ? out.release() : nullptr;
}

PyObject* matmul(PyObject* self, Args args, size_t count, PyObject* names) {
  Pair p;
  if (PyVectorcall_NARGS(count) == 2 && names == nullptr && read_numbers(args[0], args[1], NEITHER, &p)) {
    if (is_real(args[0]) && serves(p)) return product(p);
    const double work = strip_work(p);
    if (work > 2 * STRIP && ndim(args[0]) > 1 && ndim(args[1]) > 1) return product_in_strips(self, args, p, work);
  }
  return by_numpy(self, args, count, names);
}

template <Turned turned>
PyObject* matmul_turned(PyObject*, Args args, Py_ssize_t count) {
  Pair p;
  if (count != 2 || !read_pair(args[0], args[1], turned, &p) || !serves(p)) return not_served();
  return product(p);
}

// The addend of a product as a matrix that is broadcast to its shape; false if it cannot be.
template <class T>
bool read_plus(PyObject* x, const Pair& p, Matrix<T>* plus) {
  Array* a = as_array(x);
  int nd = PyArray_NDIM(a);
  if (nd > 2) return false;
  npy_intp rows = nd > 1 ? PyArray_DIM(a, nd - 2) : 1, columns = nd > 0 ? PyArray_DIM(a, nd - 1) : 1;
  if ((rows != 1 && rows != p.sizes.m) || (columns != 1 && columns != p.sizes.n)) return false;
  *plus = {data<T>(x), rows == 1 ? 0 : step_of(a, nd - 2), columns == 1 ? 0 : step_of(a, nd - 1)};
  return plus->column == 0 || plus->column == 1;
}

template <class T>
PyObject* added_product(PyObject* x, const Pair& p) {
  Matrix<T> plus;
  return read_plus<T>(x, p, &plus) ? product_of<T>(p, plus) : not_served();
}

PyObject* addmm(PyObject*, Args args, Py_ssize_t count) {
  Pair p;
  if (count != 3 || !is_plain(args[0]) || !read_pair(args[1], args[2], NEITHER, &p) || !serves(p) || p.nd != 2 ||
      kind(args[0]) != kind(args[1]))
    return not_served();
  return kind(args[0]) == NPY_FLOAT ? added_product<float>(args[0], p) : added_product<double>(args[0], p);
}

PyObject* mm(PyObject*, Args args, Py_ssize_t count) {
  Pair p;
  if (count != 2 || !read_pair(args[0], args[1], NEITHER, &p) || p.nd != 2 || p.count != 1 || !serves(p))
    Py_RETURN_NOTIMPLEMENTED;
  return product(p);
}

bool in_columns(Array* a) { return PyArray_IS_F_CONTIGUOUS(a) && !PyArray_IS_C_CONTIGUOUS(a); }

// Whether an object is a vector as long as the rows of a matrix, and of its dtype.
bool is_row_of(PyObject* object, PyObject* matrix) {
  return is_of(object, kind(matrix)) && PyArray_NDIM(as_array(object)) == 1 &&
         PyArray_DIM(as_array(object), 0) == PyArray_DIM(as_array(matrix), 1);
}

// See backends/products.py; 0 for what are not two float matrices of one dtype whose sizes fit, and, where it is given,
// a vector that can be added to each row of their product.
PyObject* layout(PyObject*, Args args, Py_ssize_t count) {
  if (count < 2 || count > 3 || !is_real(args[0]) || !is_of(args[1], kind(args[0]))) return PyLong_FromLong(0);
  Array *a = as_array(args[0]), *b = as_array(args[1]);
  if (PyArray_NDIM(a) != 2 || PyArray_NDIM(b) != 2 || PyArray_DIM(a, 1) != PyArray_DIM(b, 0)) return PyLong_FromLong(0);
  if (PyArray_DIM(a, 1) > NPY_MAX_INTP / 16 || (count == 3 && !is_row_of(args[2], args[1]))) return PyLong_FromLong(0);
  return PyLong_FromSsize_t(PyArray_DIM(a, 1) * 8 + (in_columns(b) ? 4 : 0) + (in_columns(a) ? 2 : 0) + 1);
}

}  // namespace

bool add_matmul(PyObject* module) { return add_entry<matmul>(module, "matmul", nullptr); }

PyMethodDef matmul_methods[] = {
    method<addmm>("addmm", "x + a @ b"),
    method<layout>("layout", "How two float matrices lie whose product there is, 0 for everything else."),
    method<mm>("mm", "a @ b of two matrices, NotImplemented where that is BLAS's work"),
    method<matmul_turned<RIGHT>>("matmul_nt", "a @ b.mT"),
    method<matmul_turned<LEFT>>("matmul_tn", "a.mT @ b"),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
