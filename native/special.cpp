// Special functions of real numbers, in double precision: the formulas of `ops/special`, a number at a time, so that
// only the branch that a number needs is computed. Their tables are written from there when the pack is built.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "network.h"

#if __has_include("special_tables.inc")

namespace rg {

namespace {

#include "special_tables.inc"

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
constexpr double PI = 3.141592653589793;
constexpr double TWO_OVER_PI = 0.6366197723675814;
constexpr double ROOT_TWO = 1.4142135623730951;
constexpr double ROOT_HALF = 0.7071067811865476;
constexpr double LARGE_ENOUGH = 10.0;  // from here on the asymptotic series are exact to the last digit

// The polynomial with these coefficients, lowest first.
template <size_t N>
double powers(const double (&coefficients)[N], double t) {
  double total = coefficients[N - 1];
  for (size_t k = N - 1; k-- > 0;) total = total * t + coefficients[k];
  return total;
}

// The Chebyshev series with these coefficients, lowest first, at t in [-1, 1].
template <size_t N>
double chebyshev(const double (&coefficients)[N], double t) {
  double last = 0.0, total = coefficients[N - 1];
  for (size_t k = N - 1; k-- > 1;) {
    const double next = coefficients[k] + 2 * t * total - last;
    last = total;
    total = next;
  }
  return coefficients[0] + t * total - last;
}

// ---- gamma and what it leads to ------------------------------------------------------------------------------------

double stirling_rest(double x) { return powers(STIRLING, 1 / (x * x)) / x; }

double log_gamma_1p(double x) { return x * (x - 1) * chebyshev(LGAMMA, x - 1); }

double lgamma_above_one(double x) {
  if (x >= LARGE_ENOUGH) return (x - 0.5) * std::log(x) - x + HALF_LOG_TWO_PI + stirling_rest(x);
  double product = 1;
  for (; x > 3; product *= x) x -= 1;
  return (x - 2) * (x - 1) * chebyshev(LGAMMA, x - 2) + std::log(product);
}

double lgamma_of(double x) {
  const double size = std::fabs(x);
  if (std::isnan(x)) return x;
  if (size == 0 || std::isinf(x)) return INFINITE;
  if (size < 1) {
    const double u = x > 0 ? x - 1 : x;
    return u * (x > 0 ? x : 1 + x) * chebyshev(LGAMMA, u) - std::log(size) - std::log1p(std::fmin(x, 0));
  }
  const double found = lgamma_above_one(size);
  return x > 0 ? found : LOG_PI - std::log(std::fabs(x * std::sin(PI * (x - std::nearbyint(x))))) - found;
}

double digamma_right(double x) {
  if (x >= LARGE_ENOUGH) {
    const double r = 1 / x;
    return std::log(x) - 0.5 * r - r * r * powers(DIGAMMA_SERIES, r * r);
  }
  double total = 0;
  if (x < 1) total = -1 / x, x += 1;
  for (; x > 2; total += 1 / x) x -= 1;
  return total + ((x - DIGAMMA_ROOT[0]) - DIGAMMA_ROOT[1]) * chebyshev(DIGAMMA, 2 * x - 3);
}

double digamma_of(double x) {
  if (x == 0) return std::copysign(INFINITE, -x);
  if (!(x < 0)) return digamma_right(x);
  if (x == std::floor(x)) return NOT_A_NUMBER;
  return digamma_right(1 - x) - PI / std::tan(PI * (x - std::nearbyint(x)));
}

double zeta_right(double s, double q) {
  double total = std::pow(q, -s);
  for (int k = 1; k < 10; k++) total += std::pow(q + k, -s);
  const double a = q + 10, p = std::pow(a, -s);
  total += std::pow(a, 1 - s) / (s - 1) + 0.5 * p;
  double term = p * s / a;
  int k = 0;
  for (double c : EULER_MACLAURIN) {
    total += c * term;
    term = term * ((s + (2 * k + 1)) / a) * ((s + (2 * k + 2)) / a);
    k++;
  }
  return total;
}

double zeta_of(double s, double q) {
  if (std::isnan(s) || std::isnan(q)) return NOT_A_NUMBER;
  if (s == 1 || (s > 1 && q <= 0 && q == std::floor(q))) return INFINITE;
  if (s == INFINITE) return q < 1 ? INFINITE : q == 1 ? 1 : 0;
  if (s > 1 && q > 0) return zeta_right(s, q);
  if (!(s > 1) || s != std::floor(s) || std::isinf(q)) return NOT_A_NUMBER;
  // The terms left of 0 are those of another zeta function, mirrored: all but the rest of its sum.
  const double step = std::floor(q), mirrored = zeta_right(s, step + 1 - q) - zeta_right(s, 1 - q);
  return zeta_right(s, q - step) + (std::fmod(s, 2) == 0 ? mirrored : -mirrored);
}

// ---- the normal distribution ---------------------------------------------------------------------------------------

// exp(y * y) * erfc(y) for y >= 1.
double scaled_tail(double y) {
  const double r = 1 / (y + 3);
  return r * powers(ERFC_FAR, 1 - 8 * r);
}

double exp_square(double x) {
  const double size = std::fabs(x), top = std::nearbyint(std::fmin(size, 40.0) * 16) / 16;
  return std::exp(top * top) * std::exp((size - top) * (size + top));
}

double erfcx_of(double x) {
  if (std::fabs(x) < 1) return std::exp(x * x) * std::erfc(x);
  const double tail = scaled_tail(std::fabs(x));
  return x < 0 ? 2 * exp_square(x) - tail : tail;
}

double log_ndtr_of(double x) {
  if (x < -1) return std::log(0.5 * erfcx_of(x * -ROOT_HALF)) - 0.5 * x * x;
  return std::log1p(-0.5 * std::erfc(x * ROOT_HALF));
}

double erfcinv_tail(double q) {
  const double w = std::sqrt(-std::log(q)), first = ERFCINV_RANGE[0], last = ERFCINV_RANGE[1];
  return w * chebyshev(ERFCINV, 2 * (1 / (w + 4) - first) / (last - first) - 1);
}

double erfinv_of(double x) {
  const double size = std::fabs(x);
  if (size <= 0.75) return x * chebyshev(ERFINV, x * x / 0.28125 - 1);
  if (size < 1) return std::copysign(erfcinv_tail(1 - size), x);
  return size == 1 ? std::copysign(INFINITE, x) : NOT_A_NUMBER;
}

double ndtri_of(double x) {
  if (x >= 0.125 && x <= 0.875) return ROOT_TWO * erfinv_of(2 * x - 1);
  if (x > 0 && x < 0.125) return -ROOT_TWO * erfcinv_tail(2 * x);
  if (x > 0.875 && x < 1) return ROOT_TWO * erfcinv_tail(2 * (1 - x));
  return x == 0 ? -INFINITE : x == 1 ? INFINITE : NOT_A_NUMBER;
}

// ---- Bessel's functions --------------------------------------------------------------------------------------------

double i0e_of(double x) {
  const double size = std::fabs(x);
  return size <= 8 ? chebyshev(I0_NEAR, size / 4 - 1) : chebyshev(I0_FAR, 16 / size - 1) / std::sqrt(size);
}

double i1e_of(double x) {
  const double size = std::fabs(x);
  if (size <= 8) return x * chebyshev(I1_NEAR, size / 4 - 1);
  return std::copysign(chebyshev(I1_FAR, 16 / size - 1) / std::sqrt(size), x);
}

double i0_of(double x) { return std::isinf(x) ? INFINITE : std::exp(std::fabs(x)) * i0e_of(x); }

double i1_of(double x) { return std::isinf(x) ? x : std::exp(std::fabs(x)) * i1e_of(x); }

// The product of x * x - r * r over the roots, exact also near them.
template <size_t N>
double without(const double (&roots)[N][2], double x) {
  double product = 1;
  for (const auto& root : roots) product *= ((x - root[0]) - root[1]) * (x + root[0]);
  return product;
}

// J and Y for x >= 8, where both are waves that slowly decay.
struct Waves {
  double j, y;
};

template <int ORDER>
Waves waves(double x) {
  if (std::isinf(x)) return {0, 0};
  const double t = 128 / (x * x) - 1, p = ORDER ? chebyshev(P1, t) : chebyshev(P0, t);
  const double q = (ORDER ? chebyshev(Q1, t) : chebyshev(Q0, t)) / x;
  // The cosine and the sine of x less pi/4, or less 3 pi/4, without the rounding of the difference.
  const double c = std::cos(x), s = std::sin(x);
  const double cosine = ORDER ? s - c : s + c, sine = ORDER ? -(s + c) : s - c, scale = 1 / std::sqrt(PI * x);
  return {(p * cosine - q * sine) * scale, (p * sine + q * cosine) * scale};
}

double j0_of(double x) {
  const double size = std::fabs(x);
  if (size > 8) return waves<0>(size).j;
  return without(J0_ROOTS, size) * chebyshev(J0, size * size / 32 - 1);
}

double j1_of(double x) {
  const double size = std::fabs(x);
  const double found =
      size > 8 ? waves<1>(size).j : size * without(J1_ROOTS, size) * chebyshev(J1, size * size / 32 - 1);
  return std::copysign(1.0, x) * found;
}

// What a function with a pole at 0, and nothing on its left, is where `x > 0` does not hold.
double at_pole(double x, double pole) { return x == 0 ? pole : NOT_A_NUMBER; }

double y0_of(double x) {
  if (!(x > 0)) return at_pole(x, -INFINITE);
  return x > 8 ? waves<0>(x).y : chebyshev(Y0, x * x / 32 - 1) + TWO_OVER_PI * std::log(x) * j0_of(x);
}

double y1_of(double x) {
  if (!(x > 0)) return at_pole(x, -INFINITE);
  if (x > 8) return waves<1>(x).y;
  return x * chebyshev(Y1, x * x / 32 - 1) + TWO_OVER_PI * (std::log(x) * j1_of(x) - 1 / x);
}

template <int ORDER, bool SCALED>
double k_of(double x) {
  if (!(x > 0)) return at_pole(x, INFINITE);
  if (x > 2) {
    const double found = (ORDER ? chebyshev(K1_FAR, 4 / x - 1) : chebyshev(K0_FAR, 4 / x - 1)) / std::sqrt(x);
    return SCALED ? found : found * std::exp(-x);
  }
  const double log = std::log(x / 2), t = x * x / 2 - 1;
  const double found = ORDER ? chebyshev(K1_NEAR, t) / x + log * i1_of(x) : chebyshev(K0_NEAR, t) - log * i0_of(x);
  return SCALED ? found * std::exp(x) : found;
}

// ---- the incomplete gamma functions --------------------------------------------------------------------------------

// log(1 + u) - u, exact near 0.
double log1p_less(double u) {
  if (!(std::fabs(u) < 0.5)) return std::log1p(u) - u;
  const double r = u / (2 + u);
  return 2 * r * r * r * powers(ATANH, r * r) - u * r;
}

// x**a * exp(-x) / gamma(a + 1).
double front(double a, double x) {
  if (a < LARGE_ENOUGH) return x < 1000 ? std::pow(x, a) * std::exp(-x) / std::exp(lgamma_of(a + 1)) : 0;
  const double u = (x - a) / a, exponent = u < -0.5 ? std::log(x) - std::log(a) - u : log1p_less(u);
  return std::exp(a * exponent - stirling_rest(a)) / std::sqrt(2 * PI * a);
}

// P for x below a + 1: the sum of x**n / ((a + 1) ... (a + n)).
double lower_series(double a, double x) {
  double term = 1, total = 1;
  for (int n = 1; n < 500 && term > 1e-17 * total; n++) total += term *= x / (a + n);
  return front(a, x) * total;
}

// Q for a up to 1 and x up to 1.1, where the front of the lower series is near 1: the difference is summed.
double upper_series(double a, double x) {
  double term = 1, total = 0;
  for (int n = 1; n < 25; n++) total += (term *= -x / n) / (a + n);
  const double exponent = a * std::log(x) - log_gamma_1p(a);
  return -std::expm1(exponent) - std::exp(exponent) * a * total;
}

// Q for x above a + 1: a continued fraction, from the front (Lentz).
double fraction(double a, double x) {
  double b = x + 1 - a, d = 1 / b, c = 1e300, found = d;
  for (int n = 1; n < 500; n++) {
    const double k = n * (a - n);
    b += 2;
    d = 1 / (b + k * d);
    c = b + k / c;
    found *= c * d;
    if (std::fabs(c * d - 1) < 2e-16) break;
  }
  return front(a, x) * a * found;
}

// P or Q for large a and x near it, by Temme's expansion: an error function and a correction in 1/a.
double uniform(double a, double x, bool upper) {
  const double u = (x - a) / a, half = -log1p_less(u), eta = std::copysign(std::sqrt(2 * half), u);
  double total = 0;
  for (size_t k = sizeof TEMME / sizeof *TEMME; k-- > 0;) total = total / a + powers(TEMME[k], eta);
  const double rest = std::exp(-a * half) / std::sqrt(2 * PI * a) * total, z = eta * std::sqrt(a / 2);
  return upper ? 0.5 * std::erfc(z) + rest : 0.5 * std::erfc(-z) - rest;
}

template <bool UPPER>
double incomplete(double a, double x) {
  if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (std::isinf(a) && std::isinf(x))) return NOT_A_NUMBER;
  if (a == 0 || std::isinf(x)) return UPPER ? 0 : 1;
  if (x == 0 || std::isinf(a)) return UPPER ? 1 : 0;
  if (a >= 200 && std::fabs(x - a) < 0.3 * a) return uniform(a, x, UPPER);
  if (UPPER && a <= 1 && x <= 1.1) return upper_series(a, x);
  const bool below = x < a + 1 || x <= 1.1;
  const double found = below ? lower_series(a, x) : fraction(a, x);
  return below != UPPER ? found : 1 - found;
}

// ---- products with logarithms ------------------------------------------------------------------------------------

double xlogy_of(double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log(y); }
double xlog1py_of(double x, double y) { return x == 0 && !std::isnan(y) ? 0 : x * std::log1p(y); }

// ---- the call ------------------------------------------------------------------------------------------------------

struct One {
  const char* name;
  double (*function)(double);
};

struct Two {
  const char* name;
  double (*function)(double, double);
  npy_intp most;  // numbers; beyond, NumPy's powers, many at a time, are quicker
};

constexpr npy_intp FEW = 4096;  // numbers that are computed here sooner than NumPy is asked, which is quicker with more

const One ones[] = {
    {"lgamma", lgamma_of}, {"digamma", digamma_of}, {"erfcx", erfcx_of}, {"log_ndtr", log_ndtr_of},
    {"erfinv", erfinv_of}, {"ndtri", ndtri_of}, {"i0", i0_of}, {"i0e", i0e_of}, {"i1", i1_of}, {"i1e", i1e_of},
    {"j0", j0_of}, {"j1", j1_of}, {"y0", y0_of}, {"y1", y1_of}, {"k0", k_of<0, false>}, {"k1", k_of<1, false>},
    {"k0e", k_of<0, true>}, {"k1e", k_of<1, true>},
};

const Two twos[] = {
    {"atan2", std::atan2, FEW},
    {"copysign", std::copysign, FEW},
    {"hypot", std::hypot, FEW},
    {"xlogy", xlogy_of, FEW},
    {"xlog1py", xlog1py_of, FEW},
    {"zeta", zeta_of, FEW},
    {"gammainc", incomplete<false>, PTRDIFF_MAX},
    {"gammaincc", incomplete<true>, PTRDIFF_MAX},
};

template <class Row, size_t N>
const Row* named(const Row (&rows)[N], PyObject* name) {
  const char* wanted = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : nullptr;
  if (wanted == nullptr) PyErr_Clear();
  for (const Row& row : rows)
    if (wanted != nullptr && std::strcmp(row.name, wanted) == 0) return &row;
  return nullptr;
}

constexpr npy_intp COST = 64;  // what a number costs, in elements of a plain loop

template <class T>
PyObject* map(double (*function)(double), PyObject* x) {
  Ref out(new_like(x));
  if (!out) return nullptr;
  const T* from = data<T>(x);
  T* to = data<T>(out.get());
  over(size_of(x), COST, [=](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++) to[i] = static_cast<T>(function(static_cast<double>(from[i])));
  });
  return out.release();
}

template <class T>
PyObject* map(double (*function)(double, double), PyObject* x, PyObject* y) {
  Ref out(new_like(x));
  if (!out) return nullptr;
  const T *first = data<T>(x), *second = data<T>(y);
  T* to = data<T>(out.get());
  over(size_of(x), COST, [=](npy_intp begin, npy_intp end) {
    for (npy_intp i = begin; i < end; i++)
      to[i] = static_cast<T>(function(static_cast<double>(first[i]), static_cast<double>(second[i])));
  });
  return out.release();
}

bool same_shape(PyObject* x, PyObject* y) {
  return PyArray_NDIM(as_array(x)) == PyArray_NDIM(as_array(y)) &&
         PyArray_CompareLists(PyArray_DIMS(as_array(x)), PyArray_DIMS(as_array(y)), PyArray_NDIM(as_array(x)));
}

bool serves(PyObject* x) { return is_real(x) && is_dense(x); }

// (name, x) or (name, x, y)
PyObject* py_special(PyObject*, Args args, Py_ssize_t count) {
  if (count == 2 && serves(args[1])) {
    if (const One* row = named(ones, args[0]))
      return kind(args[1]) == NPY_FLOAT ? map<float>(row->function, args[1]) : map<double>(row->function, args[1]);
  }
  if (count == 3 && serves(args[1]) && serves(args[2]) && kind(args[1]) == kind(args[2]) &&
      same_shape(args[1], args[2])) {
    const Two* row = named(twos, args[0]);
    if (row != nullptr && size_of(args[1]) <= row->most)
      return kind(args[1]) == NPY_FLOAT ? map<float>(row->function, args[1], args[2])
                                        : map<double>(row->function, args[1], args[2]);
  }
  return not_served();
}

}  // namespace

PyMethodDef special_methods[] = {
    method<py_special>("special", "special(name, x, [y]): a special function of real numbers, or None."),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rg

#else

namespace rg {
PyMethodDef special_methods[] = {{nullptr, nullptr, 0, nullptr}};
}

#endif
