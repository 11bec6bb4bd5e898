// Tables of places and offsets for convolutions.
#include <algorithm>

#include "conv.h"
#include "sizes.h"

namespace rg {

namespace {

// The part of a phase in one dimension: which taps it has and how far back they reach, and where its places are.
struct Line {
  std::vector<Index> taps, back;
  Index first = 0, count = 0;  // places, counted in strides
};

Line line_of(const Windows& w, int d, Index phase) {
  const Index s = w.stride[d], p = w.padding[d], n = w.size[d];
  Line line;
  for (Index k = 0; k < w.kernel[d]; k++)
    if (k * w.dilation[d] % s == phase) {
      line.taps.push_back(k);
      line.back.push_back(k * w.dilation[d] / s);
    }
  line.first = p > phase ? (p - phase + s - 1) / s : 0;
  const Index last = n - 1 + p - phase;
  line.count = last < 0 ? 0 : std::max<Index>(0, last / s - line.first + 1);
  return line;
}

constexpr Index LONG = 256;  // places of a row that is put together

Place place(Index at) { return static_cast<Place>(at); }

Phase correlate_phase(const Windows& w, const Bordered& source, Index inputs) {
  Phase phase;
  const Index line = source.line(), apart = source.apart, each = line / apart;
  for (Index z = 0; z < w.number[0]; z++)
    for (Index y = 0; y < w.number[1]; y++) {
      Index from = (z * w.stride[0] * source.lengths[1] + y * w.stride[1]) * line;
      phase.rows.push_back({place(from), place((z * w.number[1] + y) * w.number[2])});
    }
  phase.width = w.number[2];
  for (Index tap = 0; tap < w.taps(); tap++) phase.taps.push_back(tap);
  for (Index c = 0; c < inputs; c++)
    for (Index z = 0; z < w.kernel[0]; z++)
      for (Index y = 0; y < w.kernel[1]; y++)
        for (Index x = 0; x < w.kernel[2]; x++) {
          Index across = x * w.dilation[2];
          Index row = z * w.dilation[0] * source.lengths[1] + y * w.dilation[1];
          phase.offsets.push_back(
              place(c * source.channel() + row * line + across % apart * each + across / apart));
        }
  return phase;
}

Phase spread_phase(const Windows& w, const Bordered& source, Index inputs, const Line (&lines)[SPACE],
                   const Index (&phases)[SPACE]) {
  Phase phase;
  auto to = [&](int d, Index i) { return (lines[d].first + i) * w.stride[d] + phases[d] - w.padding[d]; };
  auto from = [&](int d, Index i) { return lines[d].first + i + source.before[d]; };
  const Index rows = source.lengths[1], line = source.line();
  for (Index z = 0; z < lines[0].count; z++)
    for (Index y = 0; y < lines[1].count; y++)
      phase.rows.push_back({place((from(0, z) * rows + from(1, y)) * line + from(2, 0)),
                            place((to(0, z) * w.size[1] + to(1, y)) * w.size[2] + to(2, 0))});
  phase.width = lines[2].count;
  phase.step = w.stride[2];
  std::vector<Place> back;
  for (size_t z = 0; z < lines[0].taps.size(); z++)
    for (size_t y = 0; y < lines[1].taps.size(); y++)
      for (size_t x = 0; x < lines[2].taps.size(); x++) {
        phase.taps.push_back((lines[0].taps[z] * w.kernel[1] + lines[1].taps[y]) * w.kernel[2] + lines[2].taps[x]);
        back.push_back(place((lines[0].back[z] * rows + lines[1].back[y]) * line + lines[2].back[x]));
      }
  for (Index c = 0; c < inputs; c++)
    for (Place b : back) phase.offsets.push_back(place(c * source.channel()) - b);
  return phase;
}

// Rows that follow each other without a gap become fewer, longer ones.
void lengthen(Phase* phase) {
  const std::vector<Row>& rows = phase->rows;
  const Index width = phase->width, count = static_cast<Index>(rows.size());
  if (phase->step != 1 || count < 2 || width >= LONG) return;
  for (Index i = 1; i < count; i++)
    if (rows[i].from - rows[i - 1].from != width || rows[i].to - rows[i - 1].to != width) return;
  const Index all = count * width;
  Index longer = std::min(all, LONG);
  while (all % longer != 0) longer--;
  if (longer <= width) return;
  std::vector<Row> merged;
  for (Index at = 0; at < all; at += longer) merged.push_back({rows[0].from + place(at), rows[0].to + place(at)});
  phase->rows = merged;
  phase->width = longer;
}

// The border that all phases need in one dimension.
void widen(const Windows& w, int d, Bordered* source) {
  Index before = 0, after = 0;
  for (Index r = 0; r < w.stride[d]; r++) {
    Line line = line_of(w, d, r);
    if (line.taps.empty() || line.count == 0) continue;
    before = std::max(before, line.back.back() - line.first);
    after = std::max(after, line.first + line.count - w.number[d] - line.back.front());
  }
  source->size[d] = w.number[d];
  source->before[d] = before;
  source->lengths[d] = before + w.number[d] + after;
}

constexpr double MOST_BYTES = 1e18;  // sizes below are exact
constexpr Index MOST_PHASES = 1 << 16;

// Whether there is something to add up, and places of it are places of the tables.
bool fits(const Plan& p) {
  if (p.samples == 0 || p.groups == 0 || p.inputs == 0 || p.channels == 0) return false;
  const Bordered& b = p.source;
  double places = static_cast<double>(p.inputs);
  for (int d = 0; d < SPACE; d++) places *= static_cast<double>(b.lengths[d] + (d == SPACE - 1 ? b.apart : 0));
  return places < static_cast<double>(MOST_PLACES) && places * static_cast<double>(p.groups) < MOST_BYTES / 8;
}

}  // namespace

bool Bordered::plain() const {
  for (int d = 0; d < SPACE; d++)
    if (lengths[d] != size[d]) return false;
  return apart == 1;
}

bool plan_correlate(const Windows& w, Channels c, Plan* plan) {
  *plan = {{}, c.samples, c.groups, c.inputs, c.channels, w.windows(), {}};
  Bordered& source = plan->source;
  for (int d = 0; d < SPACE; d++) {
    Index reach = (w.number[d] - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1;
    source.size[d] = w.size[d];
    source.before[d] = w.padding[d];
    source.lengths[d] = std::max(w.size[d] + 2 * w.padding[d], reach);
  }
  source.apart = w.stride[2];
  if (!fits(*plan)) return false;
  plan->phases.push_back(correlate_phase(w, source, c.inputs));
  lengthen(&plan->phases[0]);
  return true;
}

bool plan_spread(const Windows& w, Channels c, Plan* plan) {
  *plan = {{}, c.samples, c.groups, c.inputs, c.channels, w.elements(), {}};
  Index phases = 1;
  if (!grow(&phases, SPACE, w.stride) || phases > MOST_PHASES) return false;
  for (int d = 0; d < SPACE; d++) widen(w, d, &plan->source);
  if (!fits(*plan)) return false;
  for (Index z = 0; z < w.stride[0]; z++)
    for (Index y = 0; y < w.stride[1]; y++)
      for (Index x = 0; x < w.stride[2]; x++) {
        const Index phases[SPACE] = {z, y, x};
        const Line lines[SPACE] = {line_of(w, 0, z), line_of(w, 1, y), line_of(w, 2, x)};
        if (lines[0].count * lines[1].count * lines[2].count > 0)
          plan->phases.push_back(spread_phase(w, plan->source, c.inputs, lines, phases));
      }
  for (Phase& phase : plan->phases) lengthen(&phase);
  return true;
}

}  // namespace rg
