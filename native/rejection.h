// Gamma, Poisson and binomial numbers, one at a time, from uniform and normal ones: what backends/rejection.py does, which
// names the methods.
#pragma once
#include <algorithm>
#include <cmath>

namespace rg {

constexpr double MANY_EVENTS = 10;  // expected events from which candidates are drawn

// log k! less Stirling's approximation of it.
inline double stirling_rest(double k) {
  if (k < 10) return std::lgamma(k + 1) - (k + 0.5) * std::log(k + 1) + (k + 1) - 0.91893853320467274178;
  const double square = (k + 1) * (k + 1);
  return (1. / 12 - (1. / 360 - 1. / 1260 / square) / square) / (k + 1);
}

template <class Unit, class Normal>
double gamma_number(const Unit& unit, const Normal& normal, double shape) {
  if (!(shape > 0)) return 0;
  double scale = 1;
  if (shape < 1) {
    scale = std::pow(1 - unit(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1. / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    double x, root;
    do {
      x = normal();
      root = 1 + c * x;
    } while (root <= 0);
    const double v = root * root * root, u = 1 - unit(), square = x * x;
    if (u < 1 - 0.0331 * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v))) return scale * d * v;
  }
}

template <class Unit>
double large_poisson_number(const Unit& unit, double rate) {
  const double logarithm = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4), limit = 0.9277 - 3.6224 / (b - 2);
  while (true) {
    const double u = unit() - 0.5, v = unit(), near = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / near + b) * u + rate + 0.43);
    if (near >= 0.07 && v <= limit) return k;
    if (k < 0 || (near < 0.013 && v > near)) continue;
    const double height = std::log(v) + std::log(inverse) - std::log(a / (near * near) + b);
    if (height <= -rate + k * logarithm - std::lgamma(k + 1)) return k;
  }
}

template <class Unit>
double poisson_number(const Unit& unit, double rate) {
  if (rate >= MANY_EVENTS) return large_poisson_number(unit, rate);
  if (!(rate > 0)) return 0;
  const double least = std::exp(-rate);
  double count = 0;
  for (double product = unit(); product > least; product *= unit()) count += 1;
  return count;
}

// Counts successes, with the trials from each to the next drawn as one number.
template <class Unit>
double small_binomial_number(const Unit& unit, double trials, double chance) {
  const double rate = std::log1p(-chance);
  double count = -1;
  for (double past = 0; past <= trials; count += 1) past += std::ceil(std::log(unit()) / rate);
  return count;
}

template <class Unit>
double large_binomial_number(const Unit& unit, double trials, double chance) {
  const double deviation = std::sqrt(trials * chance * (1 - chance)), b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * chance, middle = trials * chance + 0.5;
  const double limit = 0.92 - 4.2 / b, odds = chance / (1 - chance), alpha = (2.83 + 5.1 / b) * deviation;
  const double mode = std::floor((trials + 1) * chance);
  while (true) {
    const double u = unit() - 0.5, v = unit(), near = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / near + b) * u + middle);
    if (near >= 0.07 && v <= limit) return k;
    if (k < 0 || k > trials) continue;
    const double bound = (mode + 0.5) * std::log((mode + 1) / (odds * (trials - mode + 1))) +
                         (trials + 1) * std::log((trials - mode + 1) / (trials - k + 1)) +
                         (k + 0.5) * std::log(odds * (trials - k + 1) / (k + 1)) + stirling_rest(mode) +
                         stirling_rest(trials - mode) - stirling_rest(k) - stirling_rest(trials - k);
    if (std::log(v * alpha / (a / (near * near) + b)) <= bound) return k;
  }
}

template <class Unit>
double binomial_number(const Unit& unit, double trials, double chance) {
  if (!(trials > 0 && chance > 0)) return 0;
  if (chance >= 1) return trials;
  const double rarer = std::min(chance, 1 - chance);
  const double found = trials * rarer >= MANY_EVENTS ? large_binomial_number(unit, trials, rarer)
                                                     : small_binomial_number(unit, trials, rarer);
  return chance <= 0.5 ? found : trials - found;
}

}  // namespace rg
