#include "conv.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "parallel.h"
#include "portable.h"

using rg::Index;
using rg::Matrix;
using rg::Phase;
using rg::Place;
using rg::Row;
using rg::Sizes;
using rg::Target;

#define RG_KERNELS "conv.inc"
#include "versions.h"

namespace rg {

namespace {

constexpr Index CHUNK = 8 << 20;  // bytes of samples that get a border at a time
constexpr Index PLACES = 256;     // that a thread works on at a time
constexpr Index PARTS = 16;       // into how many sums the gradient of a small weight is divided
constexpr Index TALL = 96;        // rows of it that are worked on at a time
constexpr Index STRETCH = 4096;   // elements added up in their own precision
constexpr Index LENGTH = 192;     // places that are summed at a time
constexpr Index FEW = 7;          // channels that never fill a register
constexpr Index TOGETHER = 4;     // of them, in the gradient of a weight

template <class T>
const Registers<T> widest = Versions<Registers<T>>{RG_VERSIONS(REGISTERS<T>)}.pick();
template <class T>
const Registers<T> narrow = Versions<Registers<T>>{RG_VERSIONS(REGISTERS<T>)}.narrower();
template <class T>
const Index panel = Versions<Index>{RG_VERSIONS(TWO_REGISTERS<T>)}.pick();  // channels of a weight's gradient
template <class T>
const auto overlap_block = Versions<decltype(&base::overlap_block<T>)>{RG_VERSIONS(overlap_block<T>)}.pick();
template <class T>
const auto copy_plane = Versions<decltype(&base::copy_plane<T>)>{RG_VERSIONS(copy_plane<T>)}.pick();
template <class T>
const auto line_sum = Versions<decltype(&base::line_sum<T>)>{RG_VERSIONS(line_sum<T>)}.pick();
template <class T>
const auto overlap_rows = Versions<decltype(&base::overlap_rows<T>)>{RG_VERSIONS(overlap_rows<T>)}.pick();
template <class T>
const auto join_parts = Versions<decltype(&base::join_parts<T>)>{RG_VERSIONS(join_parts<T>)}.pick();

Index parts_of(Index n, Index size) { return (n + size - 1) / size; }

// Whether registers hold places rather than channels: those would fill less of them.
template <class T>
bool by_places(const Plan& p, const Phase& phase) {
  if (p.channels <= FEW) return true;
  const Index room = parts_of(phase.width, widest<T>.lanes) * widest<T>.lanes;
  return p.channels <= widest<T>.few && p.channels < widest<T>.lanes && 4 * room <= 5 * phase.width;
}

// The registers that are filled best.
template <class T>
const Registers<T>& registers_for(const Plan& p, const Phase& phase) {
  return (by_places<T>(p, phase) ? phase.width : p.channels) <= narrow<T>.lanes ? narrow<T> : widest<T>;
}

// Runs body(i) for all i below n, each about `work` products, on several threads if that pays.
template <class Body>
void share(Index n, double work, const Body& body) {
  Index grain = static_cast<Index>(SHARED_WORK / 2 / (work + 1)) + 1;
  parallel_for(n, grain, [&](Index begin, Index end) {
    for (Index i = begin; i < end; i++) body(i);
  });
}

// -- borders -------------------------------------------------------------------------------------------------------

// One row, its elements by their remainder: windows are `apart`.
template <class T>
void copy_apart(const Bordered& b, const T* from, T* to) {
  const Index n = b.size[2], before = b.before[2], apart = b.apart, each = b.line() / apart;
  for (Index phase = 0; phase < apart; phase++) {
    Index i = (phase - before % apart + apart) % apart;
    T* line = to + phase * each + (i + before) / apart;
    for (; i < n; i += apart) *line++ = from[i];
  }
}

template <class T>
void copy_channel(const Bordered& b, const T* from, T* to) {
  const Index line = b.line(), plane = b.lengths[1] * line, size = b.size[1] * b.size[2];
  if (b.apart > 1 || b.lengths[0] > 1) std::fill(to, to + b.channel(), T(0));
  for (Index z = 0; z < b.size[0]; z++) {
    const T* rows = from + z * size;
    T* into = to + (z + b.before[0]) * plane;
    if (b.apart == 1)
      copy_plane<T>(rows, b.size[1], b.size[2], into, b.before[1], b.before[2], line,
                    b.lengths[1] - b.before[1] - b.size[1]);
    else
      for (Index y = 0; y < b.size[1]; y++) copy_apart(b, rows + y * b.size[2], into + (y + b.before[1]) * line);
  }
}

// Some samples with their border: the array itself where it has none and kernels stay inside.
template <class T>
const T* bordered(const Plan& p, const T* source, Index first, Index count, T* memory, bool inside) {
  const Bordered& b = p.source;
  const Index size = b.size[0] * b.size[1] * b.size[2], channels = p.groups * p.inputs;
  const T* from = source + first * channels * size;
  if (b.plain() && inside) return from;
  share(count * channels, static_cast<double>(b.channel()) * 8,
        [&](Index i) { copy_channel(b, from + i * size, memory + i * b.channel()); });
  return memory;
}

// -- weights -------------------------------------------------------------------------------------------------------

// Weights of some channels of one group, as [k][channel].
template <class T>
void pack_channels(const Plan& p, const Phase& phase, const Weights<T>& w, const T* from, Index channels, T* to) {
  const Registers<T>& registers = registers_for<T>(p, phase);
  const Index taps = static_cast<Index>(phase.taps.size()), wide = registers.lanes;
  if (w.input == taps) {  // all taps of an input follow those of the one before
    registers.pack(p.inputs * taps, channels, from, w.channel, to);
    return;
  }
  for (Index input = 0; input < p.inputs; input++)
    for (Index tap : phase.taps) {
      const T* line = from + input * w.input + tap;
      for (Index c = 0; c < wide; c++) to[c] = c < channels ? line[c * w.channel] : T(0);
      to += wide;
    }
}

// Weights as [group][channel][k], for few channels.
template <class T>
void pack_few(const Plan& p, const Phase& phase, const Weights<T>& w, T* to) {
  for (Index group = 0; group < p.groups; group++)
    for (Index c = 0; c < p.channels; c++)
      for (Index input = 0; input < p.inputs; input++)
        for (Index tap : phase.taps) *to++ = w.at[group * w.group + c * w.channel + input * w.input + tap];
}

// Weights as [group][register of channels][k][channel].
template <class T>
void pack_many(const Plan& p, const Phase& phase, const Weights<T>& w, T* to) {
  const Index k = static_cast<Index>(phase.offsets.size()), wide = registers_for<T>(p, phase).lanes;
  const Index panels = parts_of(p.channels, wide);
  share(p.groups * panels, static_cast<double>(k * wide) * 8, [&](Index i) {
    const Index first = i % panels * wide;
    pack_channels(p, phase, w, w.at + i / panels * w.group + first * w.channel, std::min(wide, p.channels - first),
                  to + i * k * wide);
  });
}

Index packed_of(const Plan& p, const Phase& phase, Index wide) {
  return p.groups * parts_of(p.channels, wide) * wide * static_cast<Index>(phase.offsets.size());
}

// -- convolution ---------------------------------------------------------------------------------------------------

// Some samples that have their border already; `first` is the first of them.
template <class T>
struct Samples {
  const T* source;
  Index first, count;
};

template <class T>
void convolve_phase(const Convolution<T>& c, const Phase& phase, Samples<T> s) {
  const Plan& p = *c.plan;
  const Registers<T>& registers = registers_for<T>(p, phase);
  const bool few = by_places<T>(p, phase);
  const Index k = static_cast<Index>(phase.offsets.size()), wide = few ? p.channels : registers.lanes;
  const Index panels = parts_of(p.channels, wide), rows = static_cast<Index>(phase.rows.size());
  const Index step = std::max<Index>(1, PLACES / phase.width), blocks = parts_of(rows, step);
  const Rows<T> run = few ? registers.places : registers.channels;
  share(s.count * p.groups * panels * blocks, static_cast<double>(k * wide * step * phase.width), [&](Index i) {
    const Index row = i % blocks * step, part = i / blocks % panels, at = i / blocks / panels, group = at % p.groups;
    const Index channel = group * p.channels + part * wide, sample = s.first + at / p.groups;
    run(phase, row, std::min(rows, row + step), s.source + at * p.inputs * p.source.channel(),
        c.packed + (group * panels + part) * k * wide, std::min(wide, p.channels - part * wide),
        c.bias ? c.bias + channel : nullptr, c.result + (sample * p.groups * p.channels + channel) * p.elements,
        p.elements);
  });
}

// -- gradient of the weight ----------------------------------------------------------------------------------------

// How its sums are divided: by panels of channels, by rows, and if those are few by places. By sizes alone.
struct Division {
  Index panels, blocks, chunks, parts;  // chunks of places are per sample; parts divide those of some samples
};

Division division_of(const Plan& p, size_t itemsize, Index wide) {
  const Phase& phase = p.phases[0];
  Division d;
  d.panels = parts_of(p.channels, wide);
  d.blocks = parts_of(static_cast<Index>(phase.offsets.size()), TALL);
  d.chunks = parts_of(static_cast<Index>(phase.rows.size()) * phase.width, LENGTH);
  const Index most = std::max<Index>(1, d.chunks * samples_at_once(p, itemsize));
  d.parts = std::clamp<Index>(PARTS / (p.groups * d.panels * d.blocks), 1, most);
  return d;
}

// All places of one part, for some rows of one panel.
template <class T>
void overlap_part(const Overlap<T>& o, const Division& d, Samples<T> s, Index group, Index part, Index channel, Index k,
                  T* sums) {
  const Plan& p = *o.plan;
  const Phase& phase = p.phases[0];
  const Index places = static_cast<Index>(phase.rows.size()) * phase.width, all = d.chunks * s.count;
  const Index rows = std::min(TALL, static_cast<Index>(phase.offsets.size()) - k);
  const Index begin = part * all / d.parts, end = (part + 1) * all / d.parts;
  for (Index i = begin; i < end; i++) {
    const Index sample = i / d.chunks, at = i % d.chunks * LENGTH;
    overlap_block<T>(phase, s.source + (sample * p.groups + group) * p.inputs * p.source.channel(),
                     o.gradient + (((s.first + sample) * p.groups + group) * p.channels + channel) * p.elements,
                     p.elements, at, std::min(LENGTH, places - at), std::min(panel<T>, p.channels - channel), k, rows,
                     sums, i > begin || s.first > 0);
  }
}

// Adds the parts up, as [group][channel][k].
template <class T>
void join(const Overlap<T>& o, const Division& d) {
  const Plan& p = *o.plan;
  const Index k = static_cast<Index>(p.phases[0].offsets.size()), wide = panel<T>, size = k * wide;
  share(p.groups * d.panels, static_cast<double>(size * d.parts) * 2, [&](Index i) {
    const Index first = i % d.panels * wide, left = p.channels - first, row = left > wide / 2 ? wide : wide / 2;
    join_parts<T>(o.partial + i * d.parts * size, d.parts, size, row, k, std::min(left, wide),
                  o.result + (i / d.panels * p.channels + first) * k);
  });
}

template <class T>
void overlap_many(const Overlap<T>& o, const Division& d, Samples<T> s) {
  const Plan& p = *o.plan;
  const Index k = static_cast<Index>(p.phases[0].offsets.size()), wide = panel<T>;
  const double work = static_cast<double>(d.chunks * s.count / d.parts + 1) * LENGTH * TALL * 16;
  share(p.groups * d.panels * d.blocks * d.parts, work, [&](Index i) {
    const Index part = i % d.parts, block = i / d.parts % d.blocks, at = i / d.parts / d.blocks;
    const Index row = p.channels - at % d.panels * wide > wide / 2 ? wide : wide / 2;
    T* sums = o.partial + (at * d.parts + part) * k * wide + block * TALL * row;
    overlap_part(o, d, s, at / d.panels, part, at % d.panels * wide, block * TALL, sums);
  });
}

template <class T>
void overlap_few(const Overlap<T>& o, Samples<T> s) {
  const Plan& p = *o.plan;
  const Index k = static_cast<Index>(p.phases[0].offsets.size()), each = p.inputs * p.source.channel();
  const Index parts = parts_of(p.channels, TOGETHER);
  share(p.groups * parts, static_cast<double>(k * p.elements * s.count * TOGETHER), [&](Index i) {
    const Index group = i / parts, first = i % parts * TOGETHER, count = std::min(TOGETHER, p.channels - first);
    const Index channel = group * p.channels + first;
    T* sums = o.result + channel * k;
    if (s.first == 0) std::fill(sums, sums + count * k, T(0));
    for (Index sample = 0; sample < s.count; sample++)
      overlap_rows<T>(p.phases[0], s.source + (sample * p.groups + group) * each,
                      o.gradient + ((s.first + sample) * p.groups * p.channels + channel) * p.elements, p.elements,
                      count, sums);
  });
}

}  // namespace

Index samples_at_once(const Plan& p, size_t itemsize) {
  const Index each = p.groups * p.inputs * p.source.channel() * static_cast<Index>(itemsize);
  return std::clamp<Index>(CHUNK / std::max<Index>(each, 1), 1, std::max<Index>(p.samples, 1));
}

Index packed_size(const Plan& p, size_t itemsize) {
  Index most = 0;
  for (const Phase& phase : p.phases)
    most = std::max(most, packed_of(p, phase, itemsize == sizeof(float) ? widest<float>.lanes : widest<double>.lanes));
  return most;
}

Index partial_size(const Plan& p, size_t itemsize) {
  if (p.channels <= FEW) return 0;
  const Index wide = itemsize == sizeof(float) ? panel<float> : panel<double>;
  return packed_of(p, p.phases[0], wide) * division_of(p, itemsize, wide).parts;
}

template <class T>
void convolve(const Convolution<T>& c) {
  const Plan& p = *c.plan;
  const Index step = samples_at_once(p, sizeof(T));
  const bool inside = p.channels > widest<T>.few;  // places are read in whole registers
  for (Index first = 0; first < p.samples; first += step) {
    const Index count = std::min(step, p.samples - first);
    const Samples<T> s = {bordered(p, c.source, first, count, c.padded, inside), first, count};
    for (const Phase& phase : p.phases) {
      if (first == 0 || p.phases.size() > 1)
        (by_places<T>(p, phase) ? pack_few<T> : pack_many<T>)(p, phase, c.weights, c.packed);
      convolve_phase(c, phase, s);
    }
  }
}

template <class T>
void overlap(const Overlap<T>& o) {
  const Plan& p = *o.plan;
  const bool few = by_places<T>(p, p.phases[0]);
  const Division d = division_of(p, sizeof(T), panel<T>);
  const Index step = samples_at_once(p, sizeof(T));
  for (Index first = 0; first < p.samples; first += step) {
    const Index count = std::min(step, p.samples - first);
    const Samples<T> s = {bordered(p, o.source, first, count, o.padded, true), first, count};
    few ? overlap_few(o, s) : overlap_many(o, d, s);
  }
  if (!few) join(o, d);
}

template <class T>
void channel_sums(const T* values, Index samples, Index channels, Index elements, T* sums) {
  share(channels, static_cast<double>(samples * elements) * 4, [&](Index c) {
    double sum = 0;
    for (Index s = 0; s < samples; s++)
      for (Index at = 0; at < elements; at += STRETCH)
        sum += line_sum<T>(values + (s * channels + c) * elements + at, std::min(STRETCH, elements - at));
    sums[c] = static_cast<T>(sum);
  });
}

template void convolve<float>(const Convolution<float>&);
template void convolve<double>(const Convolution<double>&);
template void channel_sums<float>(const float*, Index, Index, Index, float*);
template void channel_sums<double>(const double*, Index, Index, Index, double*);
template void overlap<float>(const Overlap<float>&);
template void overlap<double>(const Overlap<double>&);

}  // namespace rg
