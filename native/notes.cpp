// What a recording keeps of arrays while a program runs: copies of small ones, samples of large ones, and when the memory
// they lie in was freed. No reference to an array is kept, and no Python object is made: figures can wait.
#include "notes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <unordered_map>
#include <vector>

#include "array.h"
#include "parallel.h"

using Index = std::ptrdiff_t;

#define RG_KERNELS "notes.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr npy_intp WHOLE = 256;          // elements up to which an array is kept whole; of others so many are kept
constexpr npy_intp RUN = 8;              // elements of a sample that lie side by side: half a cache line
constexpr npy_intp MOST = 1 << 28;       // elements that can be seen; views may have more than any memory
constexpr size_t CHUNK = 1 << 18;

const char* const NAME = "retrograd.notes";
const char* const LENT = "retrograd.notes lent";  // of a capsule that does not own them

int64_t clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Block {
  npy_intp bytes;
  int64_t born, died;
  bool finite;  // as far as is known, all of it
};

struct Value {
  const char* elements;
  const npy_intp* dims;
  npy_intp size;
  double square;  // the sum of all squares; negative if they were not summed
  int block, type, nd, kept;
  bool first;  // whether its memory was new
};

class Notes;
std::vector<Notes*> open_notes;  // those that hear of freed memory

class Notes {
 public:
  Notes(npy_intp most_blocks, int64_t time) : most_blocks_(most_blocks), offset_(time - clock_now()) {
    open_notes.push_back(this);
    watch_frees(true);
    want_flags(true);
  }
  ~Notes() {
    close();
    for (auto& watched : watched_) Py_DECREF(watched.first);
    Py_XDECREF(callback_);
  }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

  void close() {
    open_notes.erase(std::remove(open_notes.begin(), open_notes.end(), this), open_notes.end());
    if (open_notes.empty()) {
      watch_frees(false);
      want_flags(false);
    }
    open_ = false;
  }

  // What it was called by in `living_` is no more: memory of our allocator, or an array that owns other memory.
  void freed(void* key) {
    auto found = living_.find(key);
    if (found == living_.end()) return;
    blocks[static_cast<size_t>(found->second)].died = now();
    living_.erase(found);
  }

  // An array that a weak reference stood for is no more.
  void forget(PyObject* reference) {
    auto found = watched_.find(reference);
    if (found == watched_.end()) return;
    freed(found->second);
    watched_.erase(found);
    Py_DECREF(reference);
  }

  // The number of the memory that an array lies in; -1 beyond the limit, -2 where its owner is no plain array.
  // If the array is the first there, whoever made it knows since when: the clock is not asked.
  int block_of(Array* array, bool* first) {
    Array* owner = array;
    while (PyArray_BASE(owner) != nullptr && Py_IS_TYPE(PyArray_BASE(owner), &PyArray_Type))
      owner = as_array(PyArray_BASE(owner));
    auto* object = reinterpret_cast<PyObject*>(owner);
    if (PyArray_BASE(owner) != nullptr) return -2;
    const bool ours = is_ours(object);
    void* key = ours ? PyArray_DATA(owner) : owner;
    auto known = living_.find(key);
    if (known != living_.end()) return known->second;
    if (!open_) return -1;
    if (static_cast<npy_intp>(blocks.size()) >= most_blocks_) {
      left_out++;
      return -1;
    }
    if (!ours && !watch(object)) return -2;
    const int number = static_cast<int>(blocks.size());
    *first = owner == array;
    blocks.push_back({bytes_of(object), *first ? -1 : now(), -1, false});
    living_.emplace(key, number);
    return number;
  }

  int64_t now() const { return clock_now() + offset_; }

  char* room(size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    if (chunks_.empty() || used_ + bytes > CHUNK) {
      chunks_.emplace_back(new char[CHUNK]);  // nobody needs it to be zero
      used_ = 0;
    }
    char* found = chunks_.back().get() + used_;
    used_ += bytes;
    return found;
  }

  std::vector<Block> blocks;
  std::vector<Value> values;
  Py_ssize_t left_out = 0;

 private:
  // Has `forget` called when an array whose memory is not of our allocator is no more.
  bool watch(PyObject* owner);

  npy_intp most_blocks_;
  int64_t offset_;  // between Python's clock and ours
  PyObject* callback_ = nullptr;
  std::unordered_map<PyObject*, void*> watched_;  // weak references, which are ours, and what they stand for
  std::unordered_map<void*, int> living_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t used_ = 0;
  bool open_ = true;
};

Notes* lent(PyObject* capsule) { return static_cast<Notes*>(PyCapsule_GetPointer(capsule, LENT)); }

PyObject* told_of_end(PyObject* self, PyObject* reference) {
  Notes* notes = lent(self);
  if (notes == nullptr) return nullptr;
  notes->forget(reference);
  Py_RETURN_NONE;
}

PyMethodDef end_method = {"told_of_end", told_of_end, METH_O, nullptr};

// The callback may borrow the notes: they own all weak references that it hangs on.
bool Notes::watch(PyObject* owner) {
  if (callback_ == nullptr) {
    Ref capsule(PyCapsule_New(this, LENT, nullptr));
    callback_ = capsule ? PyCFunction_New(&end_method, capsule.get()) : nullptr;
  }
  PyObject* reference = callback_ == nullptr ? nullptr : PyWeakref_NewRef(owner, callback_);
  if (reference == nullptr) {
    PyErr_Clear();
    return false;
  }
  watched_.emplace(reference, owner);
  return true;
}

// ---- elements -----------------------------------------------------------------------------------------------------

template <class T>
double all_squares(const char* elements, npy_intp n) {
  static const auto quick = Versions<decltype(&base::squares<T>)>{RG_VERSIONS(squares<T>)}.pick();
  const T* x = reinterpret_cast<const T*>(elements);
  double all = quick(x, n);
  if (std::isfinite(all)) return all;
  all = 0;  // it may be that only T is too small for them
  for (npy_intp i = 0; i < n; i++) all += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  if (std::isfinite(all) || !std::all_of(x, x + n, [](T a) { return std::isfinite(a); })) return all;
  return std::numeric_limits<double>::max();  // they are finite, and their squares are not
}

double squares_of(int type, const char* elements, npy_intp n) {
  return type == NPY_FLOAT ? all_squares<float>(elements, n) : all_squares<double>(elements, n);
}

// The element at a place in C order.
const char* element(Array* array, npy_intp place) {
  const char* found = PyArray_BYTES(array);
  for (int i = PyArray_NDIM(array) - 1; i >= 0; i--) {
    const npy_intp dim = PyArray_DIM(array, i);
    found += place % dim * PyArray_STRIDE(array, i);
    place /= dim;
  }
  return found;
}

// Elements `begin` to `end` in the order in which they lie, or in C order if they lie in none.
void copy_run(Array* array, bool dense, npy_intp begin, npy_intp end, char* into) {
  const npy_intp item = PyArray_ITEMSIZE(array);
  if (dense) {
    std::memcpy(into, PyArray_BYTES(array) + begin * item, static_cast<size_t>((end - begin) * item));
    return;
  }
  for (npy_intp i = begin; i < end; i++, into += item) std::memcpy(into, element(array, i), static_cast<size_t>(item));
}

struct Axis {
  npy_intp count, stride;
};

// Where the elements of an array lie, each place once: axes from large strides to small, those that follow each other
// without a gap in one. An axis along which nothing moves only says how often all are there.
struct Places {
  explicit Places(Array* array) : start(PyArray_BYTES(array)) {
    for (int i = 0; i < PyArray_NDIM(array); i++) {
      Axis axis = {PyArray_DIM(array, i), PyArray_STRIDE(array, i)};
      if (axis.stride == 0) times *= static_cast<double>(axis.count);
      if (axis.stride == 0 || axis.count == 1) continue;
      if (axis.stride < 0) {
        start += (axis.count - 1) * axis.stride;
        axis.stride = -axis.stride;
      }
      axes[nd++] = axis;
    }
    std::sort(axes, axes + nd, [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
    for (int i = nd - 2; i >= 0; i--) {
      if (axes[i].stride != axes[i + 1].stride * axes[i + 1].count) continue;
      axes[i] = {axes[i].count * axes[i + 1].count, axes[i + 1].stride};
      std::copy(axes + i + 2, axes + nd, axes + i + 1);
      nd--;
    }
    if (nd == 0) axes[nd++] = {1, PyArray_ITEMSIZE(array)};
  }

  const char* start;
  double times = 1;
  int nd = 0;
  Axis axes[NPY_MAXDIMS + 1];
};

// The squares of elements with gaps between them.
double squares_apart(int type, const char* x, Axis row, npy_intp item) {
  constexpr npy_intp PART = 1024;
  alignas(16) char part[PART * sizeof(double)];
  double all = 0;
  for (npy_intp begin = 0; begin < row.count; begin += PART) {
    const npy_intp count = std::min(PART, row.count - begin);
    for (npy_intp i = 0; i < count; i++, x += row.stride) std::memcpy(part + i * item, x, static_cast<size_t>(item));
    all += squares_of(type, part, count);
  }
  return all;
}

// The sum of the squares of all elements, whatever their layout; -1 for views that are larger than any memory. It is not
// finite if an element is not, and else no larger than a double can be.
double squares_in(Array* array) {
  const npy_intp size = size_of(reinterpret_cast<PyObject*>(array));
  if (size == 0) return 0;
  const Places places(array);
  if (places.nd > 1 && static_cast<double>(size) > MOST * places.times) return -1;
  const npy_intp item = PyArray_ITEMSIZE(array);
  const int type = PyArray_TYPE(array), last = places.nd - 1;
  const Axis row = places.axes[last];
  npy_intp at[NPY_MAXDIMS + 1] = {};
  const char* x = places.start;
  double all = 0;
  for (int i = 0; i >= 0;) {
    all += row.stride == item ? squares_of(type, x, row.count) : squares_apart(type, x, row, item);
    for (i = last - 1; i >= 0; i--) {
      x += places.axes[i].stride;
      if (++at[i] < places.axes[i].count) break;
      x -= places.axes[i].stride * places.axes[i].count;
      at[i] = 0;
    }
  }
  return std::isfinite(all) ? std::min(all * places.times, std::numeric_limits<double>::max()) : all;
}

// Whether an array need not be looked at: whoever made it raises flags, and none is up, and it is new; or it was not
// written at all, and its memory is known to be finite.
bool is_known(Array* array, const Block* block, bool first) {
  if (block == nullptr || !(first ? is_ours(reinterpret_cast<PyObject*>(array)) : block->finite)) return false;
  return !lower_flags();
}

// Notes an array. Every element is looked at, unless it is `calm` and known: see Note [Flags of the processor] in
// inspect/recorder.py.
Value look(Notes& notes, Array* array, bool calm, int number, bool first) {
  auto* object = reinterpret_cast<PyObject*>(array);
  Value value = {nullptr, nullptr, size_of(object), -1, number, PyArray_TYPE(array), PyArray_NDIM(array), 0, first};
  const npy_intp size = value.size, item = PyArray_ITEMSIZE(array);
  auto* dims = reinterpret_cast<npy_intp*>(notes.room(sizeof(npy_intp) * static_cast<size_t>(value.nd)));
  std::copy_n(PyArray_DIMS(array), value.nd, dims);
  value.dims = dims;
  value.kept = static_cast<int>(std::min(size, WHOLE));
  char* kept = notes.room(static_cast<size_t>(value.kept * item));
  value.elements = kept;
  if (size <= WHOLE) {
    copy_run(array, PyArray_IS_C_CONTIGUOUS(array), 0, size, kept);
    return value;
  }
  const bool dense = PyArray_IS_C_CONTIGUOUS(array) || PyArray_IS_F_CONTIGUOUS(array);
  const npy_intp step = (size - RUN) / (WHOLE / RUN - 1);
  for (npy_intp i = 0; i < WHOLE / RUN; i++) copy_run(array, dense, i * step, i * step + RUN, kept + i * RUN * item);
  Block* block = number < 0 ? nullptr : &notes.blocks[static_cast<size_t>(number)];
  if (!is_float(value.type)) return value;
  const bool known = calm && is_known(array, block, first);
  if (!known) value.square = squares_in(array);
  const bool whole = PyArray_BASE(array) == nullptr;
  if (block != nullptr) block->finite = known || (std::isfinite(value.square) && (whole || block->finite));
  return value;
}

// ---- the functions ------------------------------------------------------------------------------------------------

Notes* notes_in(PyObject* capsule) { return static_cast<Notes*>(PyCapsule_GetPointer(capsule, NAME)); }

void drop(PyObject* capsule) { delete notes_in(capsule); }

PyObject* notes_new(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "notes_new(): needs a limit and the time");
  const Py_ssize_t most = PyLong_AsSsize_t(args[0]);
  if (most == -1 && PyErr_Occurred()) return nullptr;
  const long long time = PyLong_AsLongLong(args[1]);
  if (time == -1 && PyErr_Occurred()) return nullptr;
  if (time < 0 || time >> 62 != 0) return PyErr_Format(PyExc_ValueError, "notes_new(): no clock shows %lld", time);
  try {
    auto notes = std::make_unique<Notes>(most, time);
    PyObject* capsule = PyCapsule_New(notes.get(), NAME, drop);
    if (capsule != nullptr) notes.release();
    return capsule;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* notes_value(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "notes_value(): needs notes, an array and whether it is calm");
  Notes* notes = notes_in(args[0]);
  if (notes == nullptr) return nullptr;
  if (!is_plain(args[1]) || !is_number(kind(args[1]))) Py_RETURN_NONE;
  Array* array = as_array(args[1]);
  const bool complex = PyArray_ISCOMPLEX(array);
  if (complex && size_of(args[1]) > WHOLE) Py_RETURN_NONE;
  try {
    bool first = false;
    const int block = notes->block_of(array, &first);
    if (block == -2) Py_RETURN_NONE;
    notes->values.push_back(look(*notes, array, args[2] == Py_True, block, first));
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  return PyLong_FromSsize_t(static_cast<Py_ssize_t>(notes->values.size()) - 1);
}

// Large arrays are looked at once.
PyObject* notes_finite(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "notes_finite(): needs notes and an array");
  Notes* notes = notes_in(args[0]);
  if (notes == nullptr) return nullptr;
  if (!is_plain(args[1]) || !is_float(kind(args[1]))) Py_RETURN_FALSE;
  Array* array = as_array(args[1]);
  bool first = false, finite = false;
  try {
    const int number = size_of(args[1]) <= WHOLE ? -1 : notes->block_of(array, &first);
    Block* block = number < 0 ? nullptr : &notes->blocks[static_cast<size_t>(number)];
    if (first) block->born = notes->now();
    finite = (block != nullptr && block->finite) || std::isfinite(squares_in(array));
    if (block != nullptr && PyArray_BASE(array) == nullptr) block->finite = finite;
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
  return PyBool_FromLong(finite);
}

PyObject* notes_doubt(PyObject*, PyObject* capsule) {
  Notes* notes = notes_in(capsule);
  if (notes == nullptr) return nullptr;
  for (Block& block : notes->blocks) block.finite = false;
  Py_RETURN_NONE;
}

// Appends a row to a list: a tuple that the collector has no part in.
PyObject* notes_row(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count < 1 || !PyList_CheckExact(args[0]))
    return PyErr_Format(PyExc_TypeError, "notes_row(): needs a list, and what to append to it as one tuple");
  Ref row(PyTuple_New(count - 1));
  if (!row) return nullptr;
  for (Py_ssize_t i = 1; i < count; i++) PyTuple_SET_ITEM(row.get(), i - 1, Py_NewRef(args[i]));
  if (count > 1) PyObject_GC_UnTrack(row.get());
  if (PyList_Append(args[0], row.get()) < 0) return nullptr;
  Py_RETURN_NONE;
}

PyObject* notes_block(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "notes_block(): needs notes and an array");
  Notes* notes = notes_in(args[0]);
  if (notes == nullptr) return nullptr;
  if (!Py_IS_TYPE(args[1], &PyArray_Type)) Py_RETURN_NONE;
  bool first = false;
  try {
    const int found = notes->block_of(as_array(args[1]), &first);
    if (first) notes->blocks.back().born = notes->now();
    if (found == -2) Py_RETURN_NONE;
    return PyLong_FromLong(found);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

PyObject* read_value(const Value& value) {
  Ref shape(PyArray_IntTupleFromIntp(value.nd, value.dims));
  npy_intp kept = value.kept;
  Ref elements(shape ? PyArray_SimpleNew(1, &kept, value.type) : nullptr);
  Ref square(value.square < 0 ? Py_NewRef(Py_None) : PyFloat_FromDouble(value.square));
  if (!elements || !square) return nullptr;
  std::memcpy(data<char>(elements.get()), value.elements, static_cast<size_t>(bytes_of(elements.get())));
  return Py_BuildValue("(OOnOii)", elements.get(), shape.get(), static_cast<Py_ssize_t>(value.size), square.get(),
                       value.block, value.first ? 1 : 0);
}

// The values: of each its elements or a sample of them, shape, size, sum of squares or None, block, whether that was new.
PyObject* notes_values(PyObject*, PyObject* capsule) {
  Notes* notes = notes_in(capsule);
  if (notes == nullptr) return nullptr;
  Ref found(PyList_New(0));
  for (size_t i = 0; found && i < notes->values.size(); i++) {
    Ref told(read_value(notes->values[i]));
    if (!told || PyList_Append(found.get(), told.get()) < 0) return nullptr;
  }
  return found.release();
}

// The blocks: of each its bytes, when it was first seen (-1: with the first value there), when it was freed (-1: not
// yet); and how many are left out.
PyObject* notes_blocks(PyObject*, PyObject* capsule) {
  Notes* notes = notes_in(capsule);
  if (notes == nullptr) return nullptr;
  Ref found(PyList_New(0));
  for (size_t i = 0; found && i < notes->blocks.size(); i++) {
    const Block& block = notes->blocks[i];
    Ref told(Py_BuildValue("(nLL)", static_cast<Py_ssize_t>(block.bytes), static_cast<long long>(block.born),
                           static_cast<long long>(block.died)));
    if (!told || PyList_Append(found.get(), told.get()) < 0) return nullptr;
  }
  return found ? Py_BuildValue("(On)", found.get(), notes->left_out) : nullptr;
}

PyObject* notes_close(PyObject*, PyObject* capsule) {
  Notes* notes = notes_in(capsule);
  if (notes == nullptr) return nullptr;
  notes->close();
  Py_RETURN_NONE;
}

PyCFunction fast(PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

}  // namespace

void tell_freed(void* memory) {
  for (Notes* notes : open_notes) notes->freed(memory);
}

PyMethodDef notes_methods[] = {
    {"notes_new", fast(notes_new), METH_FASTCALL,
     "Notes on arrays, and on so many blocks of memory at most; the time says from where they count nanoseconds."},
    {"notes_value", fast(notes_value), METH_FASTCALL,
     "Notes an array, calm or not: the number of the value, None if it is not served."},
    {"notes_finite", fast(notes_finite), METH_FASTCALL, "Whether all elements of an array are finite, as far as is known."},
    {"notes_doubt", notes_doubt, METH_O, "What is known of memory is known no more."},
    {"notes_block", fast(notes_block), METH_FASTCALL,
     "The number of the memory that an array lies in, -1 beyond the limit, None if its owner is no plain array."},
    {"notes_row", fast(notes_row), METH_FASTCALL, "Appends its other arguments to a list, as a tuple of their own."},
    {"notes_values", notes_values, METH_O, "All values: elements, shape, size, sum of squares, block, whether it was new."},
    {"notes_blocks", notes_blocks, METH_O, "All blocks: bytes, birth, death; and how many are left out."},
    {"notes_close", notes_close, METH_O, "Nothing is heard of memory from here on; blocks that are known stay so."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg
