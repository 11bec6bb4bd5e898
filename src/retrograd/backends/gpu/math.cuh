// The functions of formulas, by the names that tools/fusing gives them. T is float or double.
#define INFINITE __longlong_as_double(0x7ff0000000000000LL)
#define NOT_A_NUMBER __longlong_as_double(0x7ff8000000000000LL)
#define FN template <class T> __device__ __forceinline__ T

FN choose_of(bool c, T a, T b) { return c ? a : b; }
FN maximum_of(T a, T b) { return (a >= b) | (a != a) ? a : b; }
FN minimum_of(T a, T b) { return (a <= b) | (a != a) ? a : b; }
FN fmax_of(T a, T b) { return (a >= b) | (b != b) ? a : b; }
FN fmin_of(T a, T b) { return (a <= b) | (b != b) ? a : b; }
FN abs_of(T a) { return fabs(a); }
FN copysign_of(T a, T b) { return copysign(a, b); }
FN sqrt_of(T a) { return sqrt(a); }
FN square_of(T a) { return a * a; }
FN cube_of(T a) { return a * a * a; }
FN floor_of(T a) { return floor(a); }
FN ceil_of(T a) { return ceil(a); }
FN trunc_of(T a) { return trunc(a); }
FN rint_of(T a) { return rint(a); }
FN exp_of(T a) { return exp(a); }
FN exp2_of(T a) { return exp2(a); }
FN expm1_of(T a) { return expm1(a); }
FN log_of(T a) { return log(a); }
FN log2_of(T a) { return log2(a); }
FN log10_of(T a) { return log10(a); }
FN log1p_of(T a) { return log1p(a); }
FN log1p_unit_of(T a) { return log1p(a); }
FN sin_of(T a) { return sin(a); }
FN cos_of(T a) { return cos(a); }
FN tan_of(T a) { return tan(a); }
FN sinh_of(T a) { return sinh(a); }
FN cosh_of(T a) { return cosh(a); }
FN tanh_of(T a) { return tanh(a); }
FN asin_of(T a) { return asin(a); }
FN acos_of(T a) { return acos(a); }
FN atan_of(T a) { return atan(a); }
FN asinh_of(T a) { return asinh(a); }
FN acosh_of(T a) { return acosh(a); }
FN atanh_of(T a) { return atanh(a); }
FN atan2_of(T a, T b) { return atan2(a, b); }
FN hypot_of(T a, T b) { return hypot(a, b); }
FN pow_of(T a, T b) { return pow(a, b); }
FN erf_of(T a) { return erf(a); }
FN erfc_of(T a) { return erfc(a); }
FN gauss_of(T a) { return exp(-a * a); }
// Equal infinities are their own sum: their difference would be NaN.
FN logaddexp_of(T a, T b) {
  return a == b ? a + T(0.6931471805599453) : maximum_of(a, b) + log1p(exp(-fabs(a - b)));
}
